// SPDX-License-Identifier: Apache-2.0
// The experiment as plain structs: the comment beside a field is its manual. Read by experiment/reader.hpp.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/json.hpp"

namespace hopscotch {

enum class LastBatch { keep, drop };  // the remainder of a shard: train it at its true size, or skip it
enum class ValidationData { automatic, replicated, sharded };
enum class OptimizerKind { sgd, adam, adamw };
enum class ScheduleKind { constant, step, cosine };
enum class LossKind { cross_entropy, mse };
enum class Mode { min, max };

struct DataConfig {
    std::string path;  // dataset directory, relative to where hopscotch is started
    LastBatch last_batch = LastBatch::keep;
    ValidationData validation = ValidationData::automatic;  // so far every trainer holds it all; "sharded" is an error
};

struct ModelConfig {
    std::string name;  // a name of `hopscotch models`
    Json arguments;    // the other keys of "model", an object; the zoo's entry checks them
};

struct OptimizerConfig {
    OptimizerKind kind = OptimizerKind::sgd;
    double lr = 0.1;                                    // >= 0; the peak that the schedule starts from
    double momentum = 0.0;                              // sgd: [0, 1)
    bool nesterov = false;                              // sgd: needs momentum > 0
    double weight_decay = 0.0;                          // L2 for sgd and adam, decoupled for adamw
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  // adam, adamw
};

struct ScheduleConfig {
    ScheduleKind kind = ScheduleKind::constant;
    double warmup_epochs = 0;  // linear from 0 to lr over this many epochs, of samples seen
    double step_epochs = 30;   // step: multiply by gamma every so many epochs
    double gamma = 0.1;
    double min_lr = 0;  // cosine ends here
};

struct TrainConfig {
    int epochs = 10;
    int batch_size = 32;
    LossKind loss = LossKind::cross_entropy;
    std::string precision = "fp32";
    OptimizerConfig optimizer;
    ScheduleConfig schedule;
};

struct SearchConfig {
    std::string procedure = "grid";
    std::string metric = "val_accuracy";  // val_accuracy | val_loss | val_top5 | train_loss
    Mode mode = Mode::max;
    std::optional<std::int64_t> trials;     // random: how many; grid: all
    std::optional<std::int64_t> in_flight;  // trials alive at once; default min(all, 4 x trainers)
    Json start_with;                        // array of assignments {dotted path: value} tried first
    Json forbid;  // array of conditions {dotted path: value | [values] | {"above": x} | {"below": x}}
};

struct StrategyConfig {
    std::string name = "mop";
    std::string policy = "planned";  // mop
};

struct RunConfig {
    std::string dir;                 // run directory, made by the run
    std::string device = "auto";     // auto | cpu | cuda
    int threads = 1;                 // of torch, per trainer; "auto" = 1 (bits must not depend on the trainers)
    bool exact = true;               // same bits for any number of trainers
    double checkpoint_every_s = 60;  // for checkpoints (recorded; checkpoints come with --resume)
    double deadline_s = 60;          // longest wait for a reply or a transfer
    double stall_s = 300;            // longest wait for batch progress
};

struct Experiment {
    std::string name = "experiment";
    std::int64_t seed = 0;
    DataConfig data;
    ModelConfig model;
    TrainConfig train;
    SearchConfig search;
    Json space;  // as written, see experiment/space.hpp
    StrategyConfig strategy;
    RunConfig run;
    Json document;  // the whole, as read, with --set applied: what resolve() assigns into
};

// The searched values of one trial: (dotted path, value) in the order of the space.
using Assignment = std::vector<std::pair<std::string, Json>>;

// What one trial trains: the experiment with an assignment written into it.
struct TrialConfig {
    ModelConfig model;
    TrainConfig train;
    DataConfig data;
};

}  // namespace hopscotch
