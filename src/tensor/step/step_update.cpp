// SPDX-License-Identifier: Apache-2.0
// The update of a step: on a CPU by torch's optimizers, on a GPU by a kernel that reads its numbers from memory.
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <optional>

#include "model/gpu/update_element.hpp"
#include "model/gpu/update_numbers.hpp"
#include "model/state/layout.hpp"
#include "tensor/feed/workspace_impl.hpp"
#include "tensor/gpu/step_device.hpp"
#include "tensor/gpu/step_numbers.hpp"
#include "tensor/step/step_core.hpp"

namespace hopscotch {

void StepCore::clip() {
    auto const& gradient = bound_->update_gradient();
    if (train_.clip.value) gradient.clamp_(-*train_.clip.value, *train_.clip.value);
    if (!train_.clip.norm) return;
    // torch.nn.utils.clip_grad_norm_, without reading the norm back.
    auto const norm = at::linalg_vector_norm(gradient, 2);
    gradient.mul_((*train_.clip.norm / (norm + 1e-6)).clamp_max_(1.0));
}

void StepCore::clip_by_numbers() {
    auto const& gradient = bound_->update_gradient();
    auto const& numbers = *workspace_.gpu.numbers;
    if (train_.clip.value) gradient.clamp_(std::optional(numbers.clip_value().neg()), std::optional(numbers.clip_value()));
    if (train_.clip.norm)
        gradient.mul_((numbers.clip_norm() / (at::linalg_vector_norm(gradient, 2) + 1e-6)).clamp_max_(1.0));
}

void StepCore::update_by_numbers() {
    auto& numbers = *workspace_.gpu.numbers;
    FlatUpdate update;
    update.rule = rule_of(train_.optimizer.kind);
    update.nesterov = train_.optimizer.nesterov;
    update.parameters = bound_->parameters.data_ptr<float>();
    update.gradient = bound_->update_gradient().const_data_ptr<float>();
    auto const kinds = slot_kinds(train_);  // bound_->slots are the first of them
    for (std::size_t i = 0; i < bound_->slots.size(); ++i)
        update.*place_of_slot(kinds[i]) = bound_->slots[i].data_ptr<float>();
    if (bound_->averaged.defined()) update.averaged = bound_->averaged.data_ptr<float>();
    update.size = static_cast<std::size_t>(bound_->parameters.numel());
    update.decayed = static_cast<std::size_t>(bound_->decayed);
    update.block = numbers.block();
    numbers.device().update(update);
}

void StepCore::apply_update() {
    at::NoGradGuard const unrecorded;
    if (workspace_.gpu.numbers) {
        clip_by_numbers();
        return update_by_numbers();
    }
    if (train_.clip.value || train_.clip.norm) clip();
    optimizer_.apply();
    if (bound_->averaged.defined()) bound_->averaged.lerp_(bound_->parameters, 1 - train_.ema);
}

}  // namespace hopscotch
