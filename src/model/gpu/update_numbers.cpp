// SPDX-License-Identifier: Apache-2.0
#include "model/gpu/update_numbers.hpp"

#include <cmath>

#include "experiment/config.hpp"
#include "model/gpu/update_element.hpp"

namespace hopscotch {
namespace {

float rest(double x) { return static_cast<float>(1 - x); }

}  // namespace

UpdateRule rule_of(OptimizerKind kind) {
    switch (kind) {
        case OptimizerKind::sgd: return UpdateRule::sgd;
        case OptimizerKind::adam: return UpdateRule::adam;
        case OptimizerKind::adamw: return UpdateRule::adamw;
        case OptimizerKind::rmsprop: return UpdateRule::rmsprop;
        case OptimizerKind::adagrad: break;
    }
    return UpdateRule::adagrad;
}

float* FlatUpdate::* place_of_slot(std::string_view kind) {
    if (kind == "exp_avg" || kind == "grad_avg") return &FlatUpdate::mean;
    if (kind == "exp_avg_sq" || kind == "square_avg" || kind == "sum") return &FlatUpdate::square;
    return kind == "momentum" ? &FlatUpdate::momentum : nullptr;
}

UpdateNumbers update_numbers(TrainConfig const& train) {
    auto const& o = train.optimizer;
    auto const as_float = [](double x) { return static_cast<float>(x); };
    UpdateNumbers out;
    out.weight_decay = as_float(o.weight_decay);
    out.momentum = as_float(o.momentum);
    out.epsilon = as_float(o.epsilon);
    out.beta1 = as_float(o.beta1), out.beta1_rest = rest(o.beta1);
    out.beta2 = as_float(o.beta2), out.beta2_rest = rest(o.beta2);
    out.alpha = as_float(o.alpha), out.alpha_rest = rest(o.alpha);
    out.averaged_rest = rest(train.ema);
    out.clip_value = as_float(train.clip.value.value_or(0));
    out.clip_norm = as_float(train.clip.norm.value_or(0));
    return out;
}

StepEntry step_entry(OptimizerConfig const& optimizer, double lr, std::int64_t step) {
    auto const n = static_cast<double>(step);
    if (optimizer.kind == OptimizerKind::adagrad) lr /= 1 + (n - 1) * optimizer.lr_decay;
    return {static_cast<float>(lr), static_cast<float>(1 - std::pow(optimizer.beta1, n)),
            static_cast<float>(std::sqrt(1 - std::pow(optimizer.beta2, n)))};
}

}  // namespace hopscotch
