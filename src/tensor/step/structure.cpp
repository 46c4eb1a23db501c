// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/dataset/data_schema.hpp"
#include "experiment/config.hpp"
#include "tensor/step/step.hpp"

namespace hopscotch {
namespace {

// Names every field of each struct: a new field does not compile until its author decides here whether it is structure.

std::string of_model(ModelConfig const& model) {
    auto const& [name, file, init_from, init_mode, freeze, cache_frozen, arguments] = model;
    return fmt::format("{} {} {} freeze {}{}", name, file, arguments.dump(), fmt::join(freeze, " "),
                       cache_frozen ? " cached" : "");
}

// For numbers, only whether they are set: a momentum needs a slot, and a bound of clipping a kernel.
std::string of_optimizer(OptimizerConfig const& optimizer) {
    auto const& [kind, lr, momentum, nesterov, weight_decay, decay_all, beta1, beta2, epsilon, alpha, centered, lr_decay] =
        optimizer;
    return fmt::format("optimizer {} momentum {} nesterov {} decay_all {} centered {}", static_cast<int>(kind),
                       momentum != 0, nesterov, decay_all, centered);
}

std::string of_training(TrainConfig const& train) {
    auto const& [epochs, batch_size, loss, of_loss, arithmetic, clip, accumulate, ema, outer_momentum, early_stopping,
                 seed_scope, optimizer, schedule] = train;
    auto const& [precision, engine, channels_last] = arithmetic;
    auto const& [label_smoothing, class_weights, huber_delta, quantile] = of_loss;
    return fmt::format("loss {} {} {} {} {} precision {} NHWC {} clip {} {} accumulate {} averaged {} outer {} {}",
                       static_cast<int>(loss), label_smoothing, fmt::join(class_weights, " "), huber_delta, quantile,
                       static_cast<int>(precision), channels_last, clip.norm.has_value(), clip.value.has_value(), accumulate,
                       ema > 0, outer_momentum, of_optimizer(optimizer));
}

std::string of_data(DataConfig const& data, DataSchema const& schema) {
    auto out = fmt::format("task {} shape {} outputs {} categories {} normalise {}", static_cast<int>(schema.task),
                           fmt::join(schema.shape, "x"), schema.outputs, fmt::join(schema.categories, " "), data.normalise);
    for (auto const& [kind, probability, padding, size] : data.augment)
        out += fmt::format(" augment {} {} {} {}", static_cast<int>(kind), probability, padding, size);
    return out;
}

}  // namespace

std::string step_structure(TrialConfig const& config, DataSchema const& data, std::string const& weights) {
    return fmt::format("{} from {} | {} | {}", of_model(config.model), weights, of_training(config.train),
                       of_data(config.data, data));
}

}  // namespace hopscotch
