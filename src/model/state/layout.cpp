// SPDX-License-Identifier: Apache-2.0
#include "model/state/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/error.hpp"
#include "experiment/config.hpp"

namespace hopscotch {
namespace {

std::int64_t product(std::vector<std::int64_t> const& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::size_t bytes_of(Element element) { return element == Element::float32 ? sizeof(float) : sizeof(std::int64_t); }

std::size_t aligned(std::size_t offset) { return (offset + k_state_alignment - 1) / k_state_alignment * k_state_alignment; }

// Whether weight decay applies to a parameter of this shape.
bool decays(std::vector<std::int64_t> const& shape, OptimizerConfig const& optimizer) {
    return optimizer.decay_all || shape.size() > 1;
}

void append(StateLayout& layout, StateTensor tensor, std::size_t bytes) {
    tensor.offset = layout.bytes;
    tensor.bytes = bytes;
    layout.bytes = aligned(layout.bytes + bytes);
    layout.tensors.push_back(std::move(tensor));
}

}  // namespace

std::int64_t ParameterSpec::elements() const { return product(shape); }

Init Init::xavier_uniform(std::int64_t fan_in, std::int64_t fan_out) {
    return uniform(std::sqrt(6.0 / static_cast<double>(fan_in + fan_out)));
}

Init Init::for_fan_in(std::int64_t fan_in) const {
    return kind == Kind::torch_linear ? uniform(1.0 / std::sqrt(static_cast<double>(fan_in))) : *this;
}

Init Init::for_fan_out(std::int64_t fan_out) const {
    return kind == Kind::kaiming_fan_out ? normal(std::sqrt(2.0 / static_cast<double>(fan_out))) : *this;
}

std::size_t end_of_decay(StateLayout const& layout, OptimizerConfig const& optimizer) {
    std::size_t end = 0;
    for (auto const& tensor : layout.tensors)
        if (tensor.block == Block::parameter && decays(tensor.shape, optimizer))
            end = (tensor.offset + tensor.bytes) / sizeof(float);
    return end;
}

std::vector<std::string> slot_kinds(TrainConfig const& train) {
    auto const& optimizer = train.optimizer;
    std::vector<std::string> kinds;
    switch (optimizer.kind) {
        case OptimizerKind::sgd: break;
        case OptimizerKind::adam:
        case OptimizerKind::adamw: kinds = {"exp_avg", "exp_avg_sq"}; break;
        case OptimizerKind::adagrad: kinds = {"sum"}; break;
        case OptimizerKind::rmsprop: kinds = {"square_avg"};
    }
    if (optimizer.kind == OptimizerKind::rmsprop && optimizer.centered) kinds.emplace_back("grad_avg");
    bool const with_momentum = optimizer.kind == OptimizerKind::sgd || optimizer.kind == OptimizerKind::rmsprop;
    if (with_momentum && optimizer.momentum != 0) kinds.emplace_back("momentum");
    if (train.outer_momentum) kinds.emplace_back(k_outer_slot);
    if (train.ema > 0) kinds.emplace_back(k_ema_slot);
    return kinds;
}

StateLayout make_layout(LayoutRequest const& request) {
    StateLayout layout;
    std::vector<ParameterSpec const*> ordered;
    for (bool const decay : {true, false})
        for (std::size_t i = 0; i < request.parameters.size(); ++i)
            if ((request.frozen.empty() || !request.frozen[i]) &&
                decays(request.parameters[i].shape, request.train.optimizer) == decay)
                ordered.push_back(&request.parameters[i]);
    auto const add = [&](Block block, ParameterSpec const& spec, std::string name, std::string slot_kind) {
        append(layout, {std::move(name), block, Element::float32, spec.shape, 0, 0, std::move(slot_kind)},
               static_cast<std::size_t>(spec.elements()) * sizeof(float));
    };
    for (auto const* spec : ordered) add(Block::parameter, *spec, spec->name, "");
    for (auto const& kind : slot_kinds(request.train))
        for (auto const* spec : ordered) add(Block::slot, *spec, slot_name(spec->name, kind), kind);
    for (auto const& buffer : request.buffers)
        append(layout, {buffer.name, Block::buffer, buffer.element, buffer.shape, 0, 0},
               static_cast<std::size_t>(product(buffer.shape)) * bytes_of(buffer.element));
    std::vector<std::string> counters{"steps", "samples"};
    if (request.train.schedule.kind == ScheduleKind::plateau)
        counters.insert(counters.end(), {"plateau/best", "plateau/bad_epochs", "plateau/reductions"});
    for (auto const& name : counters) append(layout, {name, Block::counter, Element::int64, {}, 0, 0}, sizeof(std::int64_t));
    return layout;
}

void check_block(MutableBytes state, StateLayout const& layout) {
    require(state.size() >= layout.bytes,
            fmt::format("a state block of {} bytes is too small (the layout needs {})", state.size(), layout.bytes));
    require(reinterpret_cast<std::uintptr_t>(state.data()) % k_state_alignment == 0,
            "a state block must be 64-byte aligned (bits would depend on its address)");
}

namespace {

// A float is finite unless all bits of its exponent are set. Only then adding the exponent's last bit reaches the sign.
constexpr std::uint32_t k_exponent = 0x7f800000U, k_last_bit = 0x00800000U, k_sign = 0x80000000U;

std::uint32_t sign_if_not_finite(float const* value) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, value, sizeof bits);
    return (bits & k_exponent) + k_last_bit;
}

}  // namespace

// Without a branch, and in lanes of their own, so that it runs at the speed of the cache.
bool all_finite(ByteView floats) {
    constexpr std::size_t lanes = 16;
    std::array<std::uint32_t, lanes> bad{};
    auto const* const values = reinterpret_cast<float const*>(floats.data());
    auto const size = floats.size() / sizeof(float), whole = size / lanes * lanes;
    for (std::size_t i = 0; i < whole; i += lanes)
        for (std::size_t lane = 0; lane < lanes; ++lane) bad[lane] |= sign_if_not_finite(values + i + lane);
    for (auto i = whole; i < size; ++i) bad[0] |= sign_if_not_finite(values + i);
    return std::ranges::none_of(bad, [](std::uint32_t bits) { return (bits & k_sign) != 0; });
}

bool all_finite(ByteView state, StateLayout const& layout, Block first) {
    return std::ranges::all_of(layout.tensors, [&](StateTensor const& tensor) {
        bool const counts = tensor.element == Element::float32 && tensor.block >= first;
        return !counts || all_finite(state.subspan(tensor.offset, tensor.bytes));
    });
}

Counters counters_of(MutableBytes state, StateLayout const& layout) {
    auto const at = [&](char const* name) {
        return reinterpret_cast<std::int64_t*>(state.data() + layout.find(name).offset);
    };
    Counters counters{at("steps"), at("samples")};
    if (layout.tensors.back().name != "plateau/reductions") return counters;
    counters.plateau_best = at("plateau/best");
    counters.bad_epochs = at("plateau/bad_epochs");
    counters.reductions = at("plateau/reductions");
    return counters;
}

}  // namespace hopscotch
