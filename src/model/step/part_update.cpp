// SPDX-License-Identifier: Apache-2.0
#include "model/step/part_update.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/linalg_vector_norm.h>

#include <algorithm>

#include "core/error.hpp"
#include "model/network/network.hpp"
#include "model/state/layout.hpp"
#include "model/step/optimizer.hpp"

namespace hopscotch {

struct PartUpdate::Impl {
    Impl(TrainConfig const& config) : train(config), optimizer(config.optimizer) {}

    TrainConfig train;
    Optimizer optimizer;
    at::Tensor parameters;
    std::vector<at::Tensor> slots;
    std::int64_t decayed = 0;
};

namespace {

at::Tensor copy_of(ByteView state, std::size_t first, std::size_t size) {
    auto const* const from = reinterpret_cast<float const*>(state.data()) + first;
    auto out = at::empty({static_cast<std::int64_t>(size)}, at::TensorOptions(at::kFloat));
    std::copy_n(from, size, out.data_ptr<float>());
    return out;
}

}  // namespace

PartUpdate::PartUpdate(TrainConfig const& train, StateLayout const& layout, Range range, ByteView state)
    : range_(range), impl_(std::make_unique<Impl>(train)) {
    require(train.ema == 0, "a part of a state has no averaged weights");
    auto const all = layout.end_of(Block::parameter) / sizeof(float);
    require(!train.clip.norm || range.size == all, "the norm of a gradient needs all of it");
    impl_->parameters = copy_of(state, range.first, range.size);
    for (auto const& slot : slot_ranges(layout))
        impl_->slots.push_back(copy_of(state, slot.first + range.first, range.size));
    auto const decayed = end_of_decay(layout, train.optimizer);
    impl_->decayed = static_cast<std::int64_t>(std::min(decayed - std::min(decayed, range.first), range.size));
}

PartUpdate::PartUpdate(PartUpdate&&) noexcept = default;
PartUpdate::~PartUpdate() = default;

void PartUpdate::update(std::span<float> gradient, double lr, std::int64_t step) {
    thread_local bool entered = false;  // torch keeps its thread count per thread as well
    if (!entered) at::init_num_threads();
    entered = true;
    auto& part = *impl_;
    auto const n = static_cast<std::int64_t>(range_.size);
    require(gradient.size() == range_.size, "the length of a gradient is not that of its part");
    auto const values = at::from_blob(gradient.data(), {n}, at::TensorOptions(at::kFloat));
    if (part.train.clip.value) values.clamp_(-*part.train.clip.value, *part.train.clip.value);
    if (part.train.clip.norm)
        values.mul_((*part.train.clip.norm / (at::linalg_vector_norm(values, 2) + 1e-6)).clamp_max_(1.0));
    part.optimizer.bind(part.parameters, values, part.slots, part.decayed);
    part.optimizer.update(lr, step);
}

std::span<float const> PartUpdate::parameters() const { return floats_of(impl_->parameters); }
int PartUpdate::slots() const { return static_cast<int>(impl_->slots.size()); }
std::span<float const> PartUpdate::slot(int kind) const { return floats_of(impl_->slots[static_cast<std::size_t>(kind)]); }

}  // namespace hopscotch
