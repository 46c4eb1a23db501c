// SPDX-License-Identifier: Apache-2.0
// The experiment as plain structs: the comment beside a field is its manual. Read by experiment/reader.hpp.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/json.hpp"
#include "experiment/assignment.hpp"
#include "experiment/run_config.hpp"
#include "experiment/search_config.hpp"
#include "experiment/strategy_config.hpp"

namespace hopscotch {

enum class LastBatch { keep, drop };  // the remainder of a shard: train it at its true size, or skip it
enum class ValidationData { automatic, replicated, sharded };
enum class Cache { all, window, none };
enum class AugmentKind { flip, crop, cutout };
enum class OptimizerKind { sgd, adam, adamw, rmsprop, adagrad };
enum class ScheduleKind { constant, step, multistep, exponential, cosine, one_cycle, polynomial, plateau };
enum class LossKind { cross_entropy, bce_with_logits, mse, huber, mae, quantile };
enum class Precision { fp32, bf16 };
enum class Engine { automatic, lean, torch };
enum class InitFrom { strict, head, partial };
enum class SeedScope { trial, experiment };
enum class StepValues { decimal, binary };  // low + i * step, as people write it; of runs of earlier versions: the sum

struct AugmentConfig {  // training rows only, one array entry each, applied in order
    AugmentKind kind = AugmentKind::flip;
    double probability = 0.5;  // flip: left to right; cutout: 1.0 unless given
    std::int64_t padding = 4;  // crop: reflect-pad by this much, then cut the image's own size out at random
    std::int64_t size = 8;     // cutout: side of the square that is set to the mean; parts outside are cut off
};

struct DataConfig {
    std::string path;  // dataset directory, relative to where hopscotch is started
    std::vector<AugmentConfig> augment;
    bool normalise = true;  // (x - mean) / stddev of the training rows; false: uint8 as x / 255, float32 as it is
    LastBatch last_batch = LastBatch::keep;
    ValidationData validation = ValidationData::automatic;  // so far every trainer holds it all; "sharded" is an error
    Cache cache = Cache::all;  // all: shards in memory; window: read ahead in pieces; none: each row from the file
    std::string stage;         // a directory on each host: shards are copied there first, and checked; "": no copies
    // Rows are shuffled in the whole shard (0), or: the shard is cut into windows of this many rows, the windows come in
    // random order and are shuffled each in itself. `window` holds three of them in memory and takes 0 as 65536.
    std::int64_t shuffle_rows = 0;
};

struct ModelConfig {
    std::string name;                       // a name of `hopscotch models`, or "plugin" or "torchscript" with file
    std::string file;                       // plugin: the shared object; torchscript: the .pt
    std::string init_from;                  // a safetensors file; "": fresh weights
    InitFrom init_mode = InitFrom::strict;  // same names and shapes; head: all but the last layer; partial: what fits
    std::vector<std::string> freeze;        // patterns of parameter names, * for any text: fixed at init_from's values
    bool cache_frozen = false;              // the frozen layers at the start compute each row once, as in evaluation
    Json arguments;                         // the other keys of "model", an object; the zoo's entry checks them
};

struct OptimizerConfig {
    OptimizerKind kind = OptimizerKind::sgd;
    double lr = 0.1;                    // >= 0; the peak that the schedule starts from
    double momentum = 0.0;              // sgd, rmsprop: [0, 1)
    bool nesterov = false;              // sgd: needs momentum > 0
    double weight_decay = 0.0;          // decoupled for adamw, else L2
    bool decay_all = true;              // false: no weight decay on parameters of one dimension (bias, norm)
    double beta1 = 0.9, beta2 = 0.999;  // adam, adamw
    double epsilon = 1e-8;              // adam, adamw, rmsprop; adagrad: 1e-10 unless given
    double alpha = 0.99;                // rmsprop: smoothing
    bool centered = false;              // rmsprop
    double lr_decay = 0;                // adagrad
};

struct ScheduleConfig {
    ScheduleKind kind = ScheduleKind::constant;
    double warmup_epochs = 0;          // linear from 0 to lr over this many epochs, of samples seen
    double step_epochs = 30;           // step: multiply by gamma every step_epochs epochs
    std::vector<double> milestones{};  // multistep: multiply by gamma at each of these epochs; ascending
    double gamma = 0.1;                // step, multistep, exponential (there per epoch, 0.95 unless given)
    double min_lr = 0;                 // cosine, polynomial end here; plateau never goes below
    double power = 1;                  // polynomial
    double pct_start = 0.3, div_factor = 25, final_div_factor = 1e4;  // one_cycle (cosine), as in torch
    double factor = 0.1;  // plateau: multiply by this when val_loss (train_loss without validation) has not
    int patience = 10;    //          fallen by `threshold` (relative) for more than `patience` epochs
    double threshold = 1e-4;
};

struct EarlyStopping {     // a trial ends, as stopped, when search.metric has not improved for `patience` epochs
    int patience = 0;      // 0: off
    double min_delta = 0;  // an improvement is larger than this
};

struct LossConfig {
    double label_smoothing = 0;         // cross_entropy: [0, 1)
    std::vector<double> class_weights;  // cross_entropy: one a class; bce_with_logits: pos_weight; empty: all 1
    double huber_delta = 1;             // in deviations, as targets are stored
    double quantile = 0.5;              // of loss quantile, (0, 1): 0.9 is exceeded by a tenth of the targets
};

struct TrainConfig {
    int epochs = 10;  // at most 100000
    int batch_size = 32;
    LossKind loss = LossKind::cross_entropy;  // default: cross_entropy, bce_with_logits for multilabel, mse for a regression
    LossConfig of_loss;
    struct {
        Precision precision = Precision::fp32;  // bf16: forward and backward under autocast, weights stay fp32
        Engine engine = Engine::automatic;  // lean: logistic and mlp take the step of model/lean. A run never has automatic
        bool channels_last = true;  // cnn, resnet, vgg, mobilenet compute on NHWC images; false: NCHW, PyTorch's default
    } arithmetic;
    struct {
        std::optional<double> norm, value;
    } clip;                       // of the gradient, before the update; none: no clip
    int accumulate = 1;           // batches whose mean gradient makes one update; at a unit's end, fewer batches do
    double ema = 0;               // [0, 1): validation and best/ use weights averaged with this decay; 0: off
    bool outer_momentum = false;  // not a setting: resolve() sets it if strategy.outer has momentum, a part of the state
    EarlyStopping early_stopping;
    // Of first weights, shuffling, dropout and augmentation: each trial has its own random numbers. experiment: all trials
    // (with search.repeats: all trials of the same repeat) have the same, so that only the settings differ.
    SeedScope seed_scope = SeedScope::trial;
    OptimizerConfig optimizer;
    ScheduleConfig schedule;
};

struct Experiment {
    std::string name = "experiment";
    std::int64_t seed = 0;
    DataConfig data;
    ModelConfig model;
    TrainConfig train;
    SearchConfig search;
    Json space;  // as written, see experiment/space.hpp; at most 256 keys and 10000 listed values
    StrategyConfig strategy;
    RunConfig run;
    StepValues step_values = StepValues::decimal;
    Json document;  // the whole document, as read, with --set applied; resolve() writes assignments into it
};

// The settings of one trial: the experiment with an assignment written into it.
struct TrialConfig {
    ModelConfig model;
    TrainConfig train;
    DataConfig data;
    int repeat = 0, fold = 0;  // of search.repeats and search.folds
    // The id that addresses a trial's random numbers. The order of the shards always follows the trial's own id.
    TrialId seed_key(TrialId trial) const { return train.seed_scope == SeedScope::trial ? trial : TrialId(repeat); }
};

}  // namespace hopscotch
