// SPDX-License-Identifier: Apache-2.0
#include "tensor/step/optimizer.hpp"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/_fused_adam.h>
#include <ATen/ops/_fused_adamw.h>
#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/zeros.h>

namespace hopscotch {

Optimizer::Optimizer(OptimizerConfig const& config) : config_(config), step_{at::zeros({}, at::TensorOptions(at::kCPU))} {}

void Optimizer::bind(at::Tensor const& parameters, at::Tensor const& gradients, std::vector<at::Tensor> const& slots,
                     std::int64_t decayed) {
    ranges_.clear();
    auto const add = [&](std::int64_t first, std::int64_t length, double weight_decay) {
        if (length == 0) return;
        Range range{{parameters.narrow(0, first, length)}, {gradients.narrow(0, first, length)}, {}, weight_decay};
        for (auto const& slot : slots) range.slots.push_back({slot.narrow(0, first, length)});
        ranges_.push_back(std::move(range));
    };
    add(0, decayed, config_.weight_decay);
    add(decayed, parameters.size(0) - decayed, 0);
}

void Optimizer::schedule(double lr, std::int64_t step) {
    at::NoGradGuard const unrecorded;
    bool const adam = config_.kind == OptimizerKind::adam || config_.kind == OptimizerKind::adamw;
    if (adam) step_.front().fill_(static_cast<double>(step));
    lr_ = config_.kind == OptimizerKind::adagrad ? lr / (1 + static_cast<double>(step - 1) * config_.lr_decay) : lr;
}

void Optimizer::apply() {
    at::NoGradGuard const unrecorded;
    for (auto& range : ranges_) {
        if (config_.kind == OptimizerKind::rmsprop)
            rmsprop(range);
        else if (config_.kind == OptimizerKind::adagrad)
            adagrad(range);
        else
            fused(range);
    }
}

void Optimizer::fused(Range& range) {
    auto const& c = config_;
    if (c.kind == OptimizerKind::sgd) {
        at::_fused_sgd_(range.parameters, range.gradients, range.slots.empty() ? at::TensorList() : range.slots[0],
                        range.weight_decay, c.momentum, lr_, /*dampening=*/0.0, c.nesterov, /*maximize=*/false,
                        /*is_first_step=*/false);
        return;
    }
    auto const adam = [&](auto const& kernel) {
        kernel(range.parameters, range.gradients, range.slots[0], range.slots[1], at::TensorList(), step_, lr_, c.beta1,
               c.beta2, range.weight_decay, c.epsilon, /*amsgrad=*/false, /*maximize=*/false);
    };
    if (c.kind == OptimizerKind::adam)
        adam([](auto&&... a) { at::_fused_adam_(a...); });
    else
        adam([](auto&&... a) { at::_fused_adamw_(a...); });
}

// parameters -= lr x gradient / scale
void Optimizer::descend(at::Tensor& parameters, at::Tensor const& gradient, at::Tensor const& scale) const {
    parameters.addcdiv_(gradient, scale, -lr_);
}

// torch.optim.RMSprop's order of operations; slots: square_avg, [grad_avg], [momentum].
void Optimizer::rmsprop(Range& range) const {
    auto& parameters = range.parameters[0];
    auto gradient = range.gradients[0];
    if (range.weight_decay != 0) gradient = gradient.add(parameters, range.weight_decay);
    auto& square_avg = range.slots[0][0];
    square_avg.mul_(config_.alpha).addcmul_(gradient, gradient, 1 - config_.alpha);
    at::Tensor scale;
    if (config_.centered) {
        auto& grad_avg = range.slots[1][0];
        grad_avg.lerp_(gradient, 1 - config_.alpha);
        scale = at::addcmul(square_avg, grad_avg, grad_avg, -1).sqrt_().add_(config_.epsilon);
    } else {
        scale = square_avg.sqrt().add_(config_.epsilon);
    }
    if (config_.momentum == 0) return descend(parameters, gradient, scale);
    auto& momentum = range.slots.back()[0];
    momentum.mul_(config_.momentum).addcdiv_(gradient, scale);
    parameters.add_(momentum, -lr_);
}

void Optimizer::adagrad(Range& range) const {
    auto& parameters = range.parameters[0];
    auto gradient = range.gradients[0];
    if (range.weight_decay != 0) gradient = gradient.add(parameters, range.weight_decay);
    auto& sum = range.slots[0][0];
    sum.addcmul_(gradient, gradient);
    descend(parameters, gradient, sum.sqrt().add_(config_.epsilon));
}

}  // namespace hopscotch
