// SPDX-License-Identifier: Apache-2.0
#include "model/layout.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "core/error.hpp"
#include "core/rng.hpp"

namespace hopscotch {
namespace {

std::size_t aligned(std::size_t offset) { return (offset + k_state_alignment - 1) / k_state_alignment * k_state_alignment; }

void append(StateLayout& layout, StateTensor tensor, std::size_t bytes) {
    tensor.offset = layout.bytes;
    tensor.bytes = bytes;
    layout.bytes = aligned(layout.bytes + bytes);
    layout.tensors.push_back(std::move(tensor));
}

}  // namespace

std::int64_t ParameterSpec::elements() const {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

void add_affine(std::vector<ParameterSpec>& specs, std::string const& name, std::vector<std::int64_t> const& shape) {
    auto const fan_in = std::accumulate(shape.begin() + 1, shape.end(), std::int64_t{1}, std::multiplies<>());
    double const bound = 1.0 / std::sqrt(static_cast<double>(fan_in));
    specs.push_back({name + ".weight", shape, bound});
    specs.push_back({name + ".bias", {shape.front()}, bound});
}

std::vector<std::string> slot_kinds(OptimizerConfig const& optimizer) {
    if (optimizer.kind != OptimizerKind::sgd) return {"exp_avg", "exp_avg_sq"};
    if (optimizer.momentum != 0) return {"momentum"};
    return {};
}

StateLayout make_layout(std::vector<ParameterSpec> const& parameters, std::vector<std::string> const& slots) {
    StateLayout layout;
    auto const bytes_of = [](ParameterSpec const& spec) {
        return static_cast<std::size_t>(spec.elements()) * sizeof(float);
    };
    for (auto const& spec : parameters)
        append(layout, {spec.name, Block::parameter, Element::float32, spec.shape}, bytes_of(spec));
    for (auto const& slot : slots)
        for (auto const& spec : parameters)
            append(layout, {spec.name + "/" + slot, Block::slot, Element::float32, spec.shape}, bytes_of(spec));
    for (auto const* name : {"steps", "samples"})
        append(layout, {name, Block::counter, Element::int64, {}}, sizeof(std::int64_t));
    return layout;
}

void initialise_state(MutableBytes state, StateLayout const& layout, std::vector<ParameterSpec> const& parameters,
                      std::uint64_t seed, TrialId trial) {
    check_block(state, layout);
    std::memset(state.data(), 0, state.size());
    Rng rng(stream_key(seed, Purpose::initialisation, {trial.value}));
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        auto* const values = reinterpret_cast<float*>(state.data() + layout.tensors[i].offset);
        auto const n = parameters[i].bound > 0 ? static_cast<std::size_t>(parameters[i].elements()) : 0;
        for (std::size_t k = 0; k < n; ++k)
            values[k] = static_cast<float>(parameters[i].bound * (2.0 * rng.uniform() - 1.0));
    }
}

void check_block(MutableBytes state, StateLayout const& layout) {
    require(state.size() >= layout.bytes,
            fmt::format("a state block of {} bytes is too small (the layout needs {})", state.size(), layout.bytes));
    require(reinterpret_cast<std::uintptr_t>(state.data()) % k_state_alignment == 0,
            "a state block must be 64-byte aligned (bits would depend on its address)");
}

// A float is finite unless all bits of its exponent are set. Written without a branch, so that it runs at memory speed.
bool all_finite(ByteView state, StateLayout const& layout) {
    constexpr std::uint32_t exponent = 0x7f800000U;
    std::uint32_t bad = 0;
    for (auto const& tensor : layout.tensors) {
        if (tensor.element != Element::float32) continue;
        auto const* const words = reinterpret_cast<float const*>(state.data() + tensor.offset);
        for (std::size_t i = 0; i < tensor.bytes / sizeof(float); ++i) {
            std::uint32_t bits = 0;
            std::memcpy(&bits, words + i, sizeof bits);
            bad |= static_cast<std::uint32_t>((bits & exponent) == exponent);
        }
    }
    return bad == 0;
}

Counters counters_of(MutableBytes state, StateLayout const& layout) {
    auto const at = [&](char const* name) {
        return reinterpret_cast<std::int64_t*>(state.data() + layout.find(name).offset);
    };
    return {at("steps"), at("samples")};
}

}  // namespace hopscotch
