// SPDX-License-Identifier: Apache-2.0
#include "model/optimizer.hpp"

#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/zeros.h>

namespace hopscotch {

Optimizer::Optimizer(OptimizerConfig const& config, at::Device device)
    : config_(config), step_{at::zeros({}, at::TensorOptions().device(device))} {}

void Optimizer::bind(at::Tensor const& parameters, at::Tensor const& gradients, std::vector<at::Tensor> const& slots) {
    parameters_ = {parameters};
    gradients_ = {gradients};
    first_.assign(slots.begin(), slots.begin() + (slots.empty() ? 0 : 1));
    second_.assign(slots.begin() + (slots.size() > 1 ? 1 : static_cast<std::ptrdiff_t>(slots.size())), slots.end());
}

void Optimizer::update(double lr, std::int64_t step) {
    auto const& c = config_;
    if (c.kind == OptimizerKind::sgd) {
        at::_fused_sgd_(parameters_, gradients_, first_, c.weight_decay, c.momentum, lr, /*dampening=*/0.0, c.nesterov,
                        /*maximize=*/false, /*is_first_step=*/false);
        return;
    }
    step_.front().fill_(static_cast<double>(step));
    auto const adam = [&](auto const& kernel) {
        kernel(parameters_, gradients_, first_, second_, at::TensorList(), step_, lr, c.beta1, c.beta2, c.weight_decay,
               c.epsilon,
               /*amsgrad=*/false, /*maximize=*/false);
    };
    if (c.kind == OptimizerKind::adam)
        adam([](auto&&... a) { at::_fused_adam_(a...); });
    else
        adam([](auto&&... a) { at::_fused_adamw_(a...); });
}

}  // namespace hopscotch
