// SPDX-License-Identifier: Apache-2.0
#include "model/trial/part_update.hpp"

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "experiment/config.hpp"
#include "model/lean/lean_memory.hpp"
#include "model/lean/lean_update.hpp"
#include "model/state/layout.hpp"
#include "model/trial/torch_library.hpp"

namespace hopscotch {

struct PartUpdate::Impl {
    std::size_t slots = 0, decayed = 0;
    GrowingFloats memory;
    float* values = nullptr;  // [1 + slots, size]: parameters, slots
    std::optional<LeanUpdate> lean;
    std::unique_ptr<TorchPartUpdate> torch;  // null: lean
};

PartUpdate::PartUpdate(TrainConfig const& train, StateLayout const& layout, Range range, ByteView state)
    : range_(range), impl_(std::make_unique<Impl>()) {
    require(train.ema == 0, "a part of a state has no averaged weights");
    auto const all = layout.end_of(Block::parameter) / sizeof(float);
    require(!train.clip.norm || range.size == all, "the norm of a gradient needs all of it");
    auto const slots = slot_ranges(layout);
    impl_->slots = slots.size();
    impl_->values = impl_->memory.at_least((slots.size() + 1) * range.size);
    auto* to = impl_->values;
    auto const copy = [&](std::size_t first) {
        to = std::copy_n(reinterpret_cast<float const*>(state.data()) + first + range.first, range.size, to);
    };
    copy(0);
    for (auto const& slot : slots) copy(slot.first);
    auto const decayed = end_of_decay(layout, train.optimizer);
    impl_->decayed = std::min(decayed - std::min(decayed, range.first), range.size);
    if (layout.update_by == UpdateBy::lean)
        impl_->lean.emplace(train, layout);
    else
        impl_->torch = torch_library().make_part_update(train, {impl_->values, static_cast<std::int64_t>(slots.size()),
                                                                static_cast<std::int64_t>(range.size),
                                                                static_cast<std::int64_t>(impl_->decayed)});
}

PartUpdate::PartUpdate(PartUpdate&&) noexcept = default;
PartUpdate::~PartUpdate() = default;

void PartUpdate::update(std::span<float> gradient, double lr, std::int64_t step) {
    require(gradient.size() == range_.size, "the length of a gradient is not that of its part");
    if (impl_->lean) return impl_->lean->apply({impl_->values, range_.size, impl_->decayed}, gradient, lr, step);
    impl_->torch->update(gradient, lr, step);
}

std::span<float const> PartUpdate::parameters() const { return {impl_->values, range_.size}; }
int PartUpdate::slots() const { return static_cast<int>(impl_->slots); }
std::span<float const> PartUpdate::slot(int kind) const {
    return {impl_->values + (static_cast<std::size_t>(kind) + 1) * range_.size, range_.size};
}

}  // namespace hopscotch
