// SPDX-License-Identifier: Apache-2.0
#include "model/step/part_update.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "model/lean/lean_update.hpp"
#include "model/state/layout.hpp"
#include "model/step/optimizer.hpp"

namespace hopscotch {

struct PartUpdate::Impl {
    Impl(TrainConfig const& config, StateLayout const& layout) : train(config), optimizer(config.optimizer) {
        if (layout.update_by == UpdateBy::lean) lean.emplace(config, layout);
    }

    void by_torch(at::Tensor const& gradient, double lr, std::int64_t step) {
        if (train.clip.value) gradient.clamp_(-*train.clip.value, *train.clip.value);
        if (train.clip.norm)
            gradient.mul_((*train.clip.norm / (at::linalg_vector_norm(gradient, 2) + 1e-6)).clamp_max_(1.0));
        optimizer.bind(part(0), gradient, slots(), static_cast<std::int64_t>(decayed));
        optimizer.update(lr, step);
    }

    std::int64_t size() const { return values.size(1); }
    at::Tensor part(std::int64_t row) const { return values.select(0, row); }
    std::vector<at::Tensor> slots() const {
        std::vector<at::Tensor> out;
        for (std::int64_t row = 1; row < values.size(0); ++row) out.push_back(part(row));
        return out;
    }

    TrainConfig train;
    Optimizer optimizer;
    std::optional<LeanUpdate> lean;
    at::Tensor values;  // [1 + slots, size]: parameters, slots
    std::size_t decayed = 0;
};

PartUpdate::PartUpdate(TrainConfig const& train, StateLayout const& layout, Range range, ByteView state)
    : range_(range), impl_(std::make_unique<Impl>(train, layout)) {
    require(train.ema == 0, "a part of a state has no averaged weights");
    auto const all = layout.end_of(Block::parameter) / sizeof(float);
    require(!train.clip.norm || range.size == all, "the norm of a gradient needs all of it");
    auto const slots = slot_ranges(layout);
    auto const n = static_cast<std::int64_t>(range.size);
    impl_->values = at::empty({static_cast<std::int64_t>(slots.size()) + 1, n}, at::TensorOptions(at::kFloat));
    auto* to = impl_->values.data_ptr<float>();
    auto const copy = [&](std::size_t first) {
        to = std::copy_n(reinterpret_cast<float const*>(state.data()) + first + range.first, range.size, to);
    };
    copy(0);
    for (auto const& slot : slots) copy(slot.first);
    auto const decayed = end_of_decay(layout, train.optimizer);
    impl_->decayed = std::min(decayed - std::min(decayed, range.first), range.size);
}

PartUpdate::PartUpdate(PartUpdate&&) noexcept = default;
PartUpdate::~PartUpdate() = default;

void PartUpdate::update(std::span<float> gradient, double lr, std::int64_t step) {
    thread_local bool entered = false;  // torch keeps its thread count per thread as well
    if (!entered) at::init_num_threads();
    entered = true;
    require(gradient.size() == range_.size, "the length of a gradient is not that of its part");
    auto* const values = impl_->values.data_ptr<float>();
    if (impl_->lean) return impl_->lean->apply({values, range_.size, impl_->decayed}, gradient, lr, step);
    impl_->by_torch(at::from_blob(gradient.data(), {impl_->size()}, at::TensorOptions(at::kFloat)), lr, step);
}

std::span<float const> PartUpdate::parameters() const { return {impl_->values.const_data_ptr<float>(), range_.size}; }
int PartUpdate::slots() const { return static_cast<int>(impl_->values.size(0)) - 1; }
std::span<float const> PartUpdate::slot(int kind) const {
    return {impl_->values.const_data_ptr<float>() + (static_cast<std::size_t>(kind) + 1) * range_.size, range_.size};
}

}  // namespace hopscotch
