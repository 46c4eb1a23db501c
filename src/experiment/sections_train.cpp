// SPDX-License-Identifier: Apache-2.0
// The section `train`, with its optimizer and schedule.
#include <fmt/format.h>

#include <algorithm>

#include "experiment/loss_traits.hpp"
#include "experiment/section_keys.hpp"
#include "experiment/sections.hpp"

namespace hopscotch {
namespace {

constexpr double k_most_epochs = 100'000;  // all laps of a trial are listed at once

void read_decay(ObjectReader& reader, OptimizerConfig& out) {
    enum class Decay { all, weights };
    constexpr std::array<Name<Decay>, 2> decays{{{"all", Decay::all}, {"weights", Decay::weights}}};
    auto decay = Decay::all;
    reader.read({"weight_decay", "Weight decay: decoupled for adamw, else L2."}, out.weight_decay, at_least(0));
    read_name(reader, {"decay", "weights: no weight decay on parameters of one dimension, such as biases."}, decays, decay);
    out.decay_all = decay == Decay::all;
}

OptimizerConfig read_optimizer(ObjectReader reader) {
    OptimizerConfig out;
    constexpr std::array<Name<OptimizerKind>, 5> kinds{{{"sgd", OptimizerKind::sgd},
                                                        {"adam", OptimizerKind::adam},
                                                        {"adamw", OptimizerKind::adamw},
                                                        {"rmsprop", OptimizerKind::rmsprop},
                                                        {"adagrad", OptimizerKind::adagrad}}};
    OwnKeys const own(reader, read_name(reader, {"name", "The optimizer."}, kinds, out.kind));
    if (out.kind == OptimizerKind::adagrad) out.epsilon = 1e-10;
    reader.read({"lr", "The learning rate, the peak of the schedule."}, out.lr, at_least(0));
    read_decay(reader, out);
    if (own.include("momentum", {"sgd", "rmsprop"}))
        reader.read({"momentum", "The momentum."}, out.momentum, at_least_zero_below_one());
    if (own.include("nesterov", {"sgd"}))
        reader.read({"nesterov", "Nesterov's form of the momentum; needs momentum > 0."}, out.nesterov);
    if (out.nesterov && out.momentum <= 0)
        reader.problem("nesterov", "needs momentum > 0 (got 0); set momentum, or leave nesterov out");
    if (own.include("beta1", {"adam", "adamw"}))
        reader.read({"beta1", "Decay of the mean of gradients."}, out.beta1, at_least_zero_below_one());
    if (own.include("beta2", {"adam", "adamw"}))
        reader.read({"beta2", "Decay of the mean of squared gradients."}, out.beta2, at_least_zero_below_one());
    if (own.include("epsilon", {"adam", "adamw", "rmsprop", "adagrad"}))
        reader.read({"epsilon", "Added to the denominator."}, out.epsilon, above(0));
    if (own.include("alpha", {"rmsprop"}))
        reader.read({"alpha", "Decay of the mean of squared gradients."}, out.alpha, at_least_zero_below_one());
    if (own.include("centered", {"rmsprop"}))
        reader.read({"centered", "Divides by the variance of gradients instead of the mean square."}, out.centered);
    if (own.include("lr_decay", {"adagrad"}))
        reader.read({"lr_decay", "The learning rate falls with the steps by this rate."}, out.lr_decay, at_least(0));
    reader.finish();
    return out;
}

void read_milestones(ObjectReader& reader, std::vector<double>& out) {
    reader.describe(
        {"milestones", "Epochs, ascending: at each, the learning rate is multiplied by gamma."},
        Json::object(
            {{"type", "array"}, {"items", schema_of("number", {.above = 0})}, {"uniqueItems", true}, {"required", true}}));
    if (!reader.has("milestones")) {
        reader.take("milestones");
        return reader.missing("milestones", "list the epochs, for example [30, 60, 80]");
    }
    read_numbers(reader, "milestones", out, above(0));
    if (std::adjacent_find(out.begin(), out.end(), std::greater_equal<>()) != out.end())
        reader.problem("milestones", "must ascend (each is an epoch after the one before)");
}

void read_plateau(ObjectReader& reader, OwnKeys const& own, ScheduleConfig& out) {
    auto const inside = [](double v) {
        return v > 0 && v < 1 ? "" : fmt::format("must be greater than 0 and below 1 (got {})", v);
    };
    Check<double> const shrinks(inside, {.above = 0, .below = 1});
    if (own.include("factor", {"plateau"}))
        reader.read({"factor", "The learning rate is multiplied by this when the loss has stopped falling."}, out.factor,
                    shrinks);
    if (own.include("patience", {"plateau"}))
        reader.read({"patience", "This many epochs may pass without an improvement."}, out.patience, at_least(0));
    if (own.include("threshold", {"plateau"}))
        reader.read({"threshold", "A loss has fallen if it fell by this share."}, out.threshold, at_least_zero_below_one());
}

ScheduleConfig read_schedule(ObjectReader reader) {
    ScheduleConfig out;
    constexpr std::array<Name<ScheduleKind>, 8> kinds{{{"constant", ScheduleKind::constant},
                                                       {"step", ScheduleKind::step},
                                                       {"multistep", ScheduleKind::multistep},
                                                       {"exponential", ScheduleKind::exponential},
                                                       {"cosine", ScheduleKind::cosine},
                                                       {"one_cycle", ScheduleKind::one_cycle},
                                                       {"polynomial", ScheduleKind::polynomial},
                                                       {"plateau", ScheduleKind::plateau}}};
    OwnKeys const own(reader, read_name(reader, {"name", "The schedule of the learning rate."}, kinds, out.kind));
    if (out.kind == ScheduleKind::exponential) out.gamma = 0.95;
    reader.read({"warmup_epochs", "The learning rate rises from 0 over this many epochs first."}, out.warmup_epochs,
                at_least(0));
    if (own.include("step_epochs", {"step"}))
        reader.read({"step_epochs", "The learning rate is multiplied by gamma each time that this many epochs have passed."},
                    out.step_epochs, above(0));
    if (own.include("milestones", {"multistep"})) read_milestones(reader, out.milestones);
    if (own.include("gamma", {"step", "multistep", "exponential"}))
        reader.read({"gamma", "The factor of the learning rate; exponential: each epoch."}, out.gamma, above(0));
    if (own.include("min_lr", {"cosine", "polynomial", "plateau"}))
        reader.read({"min_lr", "The lowest learning rate."}, out.min_lr, at_least(0));
    if (own.include("power", {"polynomial"})) reader.read({"power", "The power of the polynomial."}, out.power, above(0));
    if (own.include("pct_start", {"one_cycle"}))
        reader.read({"pct_start", "The share of the training in which the learning rate rises."}, out.pct_start,
                    between(0, 1));
    if (own.include("div_factor", {"one_cycle"}))
        reader.read({"div_factor", "The first learning rate is lr / div_factor."}, out.div_factor, above(0));
    if (own.include("final_div_factor", {"one_cycle"}))
        reader.read({"final_div_factor", "The last learning rate is the first one / final_div_factor."},
                    out.final_div_factor, above(0));
    read_plateau(reader, own, out);
    reader.finish();
    return out;
}

void read_loss(ObjectReader& reader, TrainConfig& out) {
    OwnKeys const own(reader,
                      read_name(reader, {"loss", "The loss; without the key, the one that fits the dataset."}, loss_traits(),
                                out.loss),
                      "loss");
    auto const include = [&](std::string_view key) { return own.include(key, losses_with(key)); };
    if (include("label_smoothing"))
        reader.read({"label_smoothing", "The share of the target that is spread over all classes."},
                    out.of_loss.label_smoothing, at_least_zero_below_one());
    if (include("huber_delta"))
        reader.read({"huber_delta", "Errors above this count linearly; in deviations of the targets."},
                    out.of_loss.huber_delta, above(0));
    if (include("quantile"))
        reader.read({"quantile", "The share of targets that lie below a prediction."}, out.of_loss.quantile,
                    between_zero_and_one());
    if (!include("class_weights")) return;
    auto& weights = out.of_loss.class_weights;
    read_numbers(reader,
                 {"class_weights",
                  "cross_entropy: a weight for each class; bce_with_logits: a weight of the positives of each label."},
                 weights, above(0));  // a batch of weight 0 has no mean
}

EarlyStopping read_early_stopping(ObjectReader reader) {
    EarlyStopping out;
    reader.read({"patience", "A trial ends after this many epochs without an improvement of search.metric; 0: off."},
                out.patience, at_least(0));
    reader.read({"min_delta", "An improvement is larger than this."}, out.min_delta, at_least(0));
    if (reader.has("min_delta") && !reader.has("patience"))
        reader.missing("patience", "say after how many epochs without an improvement a trial ends");
    reader.finish();
    return out;
}

}  // namespace

TrainConfig read_train(ObjectReader reader) {
    TrainConfig out;
    reader.read({"epochs", "Epochs of each trial, if no procedure ends it earlier."}, out.epochs,
                up_to(k_most_epochs, at_least(1)));
    reader.read({"batch_size", "Rows of a batch."}, out.batch_size, at_least(1));
    read_loss(reader, out);
    std::string precision = "fp32";
    read_choice(reader, {"precision", "bf16: forward and backward under autocast; weights stay fp32."}, precision,
                {"fp32", "bf16"}, {"tf32", "fp16", "mixed", "fp64"});
    if (precision == "bf16") out.arithmetic.precision = Precision::bf16;
    constexpr std::array<Name<Engine>, 3> engines{
        {{"auto", Engine::automatic}, {"lean", Engine::lean}, {"torch", Engine::torch}}};
    read_name(
        reader,
        {"engine",
         "lean: logistic, mlp, lenet and small cnn take Hopscotch's own step on CPUs; torch: all models take LibTorch's; "
         "auto: lean if the CPU of rank 0 has AVX2 or is a 64-bit ARM, and a run goes on as it began."},
        engines, out.arithmetic.engine);
    reader.read({"channels_last", "Convolutional networks compute on NHWC images; false: NCHW, PyTorch's default."},
                out.arithmetic.channels_last);
    reader.read({"clip_norm", "The gradient is scaled down to this norm before the update."}, out.clip.norm, above(0));
    reader.read({"clip_value", "Each number of the gradient is cut off at this value before the update."}, out.clip.value,
                above(0));
    reader.read({"accumulate", "The mean gradient of this many batches makes one update."}, out.accumulate, at_least(1));
    reader.read({"ema", "Validation and best/ use weights averaged with this decay; 0: off."}, out.ema,
                at_least_zero_below_one());
    out.early_stopping =
        read_early_stopping(reader.child({"early_stopping", "Ends trials whose metric does not improve any more."}));
    constexpr std::array<Name<SeedScope>, 2> scopes{{{"trial", SeedScope::trial}, {"experiment", SeedScope::experiment}}};
    read_name(reader,
              {"seed_scope", "Each trial has random numbers of its own, or all trials of the experiment have the same."},
              scopes, out.seed_scope);
    out.optimizer = read_optimizer(reader.child({"optimizer", "The optimizer and its settings."}));
    out.schedule = read_schedule(reader.child({"schedule", "The schedule of the learning rate and its settings."}));
    reader.finish();
    return out;
}

}  // namespace hopscotch
