// SPDX-License-Identifier: Apache-2.0
#include "model/lean/lean_update.hpp"

#include <cmath>

#include "model/gpu/update_numbers.hpp"
#include "model/lean/elements.hpp"
#include "model/lean/update.hpp"
#include "model/state/layout.hpp"

namespace hopscotch {

LeanUpdate::LeanUpdate(TrainConfig const& train, StateLayout const& layout)
    : train_(train), numbers_(update_numbers(train)) {
    for (auto const& range : slot_ranges(layout))
        slots_.push_back(range.kind == k_ema_slot ? &FlatUpdate::averaged : place_of_slot(range.kind));
}

void LeanUpdate::clip(std::span<float> gradient) const {
    auto const n = static_cast<std::int64_t>(gradient.size());
    if (train_.clip.value) clamp(gradient.data(), n, numbers_.clip_value);
    if (!train_.clip.norm) return;
    auto const norm = std::sqrt(sum_of_squares(gradient.data(), n));
    auto const factor = *train_.clip.norm / (norm + 1e-6);
    scale(gradient.data(), n, static_cast<float>(factor > 1 ? 1.0 : factor));  // a NaN stays one
}

void LeanUpdate::apply(UpdatedFloats const& floats, std::span<float> gradient, double lr, std::int64_t step) const {
    clip(gradient);
    FlatUpdate update;
    update.rule = rule_of(train_.optimizer.kind);
    update.nesterov = train_.optimizer.nesterov;
    update.parameters = floats.parameters;
    update.gradient = gradient.data();
    for (std::size_t k = 0; k < slots_.size(); ++k)
        if (slots_[k] != nullptr) update.*slots_[k] = floats.parameters + (k + 1) * floats.stride;
    update.size = gradient.size();
    update.decayed = floats.decayed;
    update_all(update, {numbers_, step_entry(train_.optimizer, lr, step)});
}

}  // namespace hopscotch
