// SPDX-License-Identifier: Apache-2.0
// Builds the layout of a state from the tensors of a network and the slots of an optimizer.
// Slots are laid out exactly like the parameters, so that the fused update is one call over one flat range per kind.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_view.hpp"
#include "core/ids.hpp"
#include "model/state/state.hpp"

namespace hopscotch {

struct OptimizerConfig;
struct TrainConfig;

inline constexpr std::size_t k_state_alignment = 64;  // a cache line and the widest vector register

// How a parameter starts. The kinds that need a fan learn it from the layer.
struct Init {
    enum class Kind { constant, uniform, normal, truncated_normal, torch_linear, kaiming_fan_out };
    Kind kind = Kind::constant;
    double value = 0;  // constant: itself; uniform: the bound; normal: the standard deviation

    static Init constant(double v) { return {Kind::constant, v}; }
    static Init uniform(double bound) { return {Kind::uniform, bound}; }
    static Init normal(double stddev) { return {Kind::normal, stddev}; }
    static Init truncated_normal(double stddev) {
        return {Kind::truncated_normal, stddev};
    }  // within 2 (absolute), as torch
    // torch's default of Linear and Conv: kaiming_uniform(a = sqrt(5)), that is U(+-1/sqrt(fan_in)), weight and bias.
    static Init torch_default() { return {Kind::torch_linear, 0}; }
    static Init kaiming_fan_out() { return {Kind::kaiming_fan_out, 0}; }  // N(0, 2 / fan_out): torchvision's convolutions
    static Init xavier_uniform(std::int64_t fan_in, std::int64_t fan_out);

    Init for_fan_in(std::int64_t fan_in) const;    // resolves torch_linear, leaves others
    Init for_fan_out(std::int64_t fan_out) const;  // resolves kaiming_fan_out, leaves others
};

struct ParameterSpec {
    std::string name;
    std::vector<std::int64_t> shape;
    Init init;

    std::int64_t elements() const;
};

struct BufferSpec {
    std::string name;
    std::vector<std::int64_t> shape;
    Element element = Element::float32;
    double value = 0;  // of every element at the start
};

// The kinds of values that the optimizer keeps per parameter: {}, {"momentum"}, {"exp_avg", "exp_avg_sq"}, ...; then "outer"
// and "ema", if they are on.
std::vector<std::string> slot_kinds(TrainConfig const& train);

struct LayoutRequest {
    std::vector<ParameterSpec> const& parameters;
    std::vector<BufferSpec> const& buffers;
    std::vector<bool> frozen;  // by parameter: not in the state; empty: none
    TrainConfig const& train;
};

// Parameters (those with weight decay first, if not all have it), then one equally laid out range per slot kind, then the
// buffers, then the counters "steps", "samples" and, for plateau schedules, "plateau/best", "/bad_epochs", "/reductions".
StateLayout make_layout(LayoutRequest const& request);

constexpr std::size_t padded_floats(std::size_t floats) {  // to the alignment
    constexpr auto line = k_state_alignment / sizeof(float);
    return (floats + line - 1) / line * line;
}

// The floats after the last parameter that weight decay applies to.
std::size_t end_of_decay(StateLayout const& layout, OptimizerConfig const& optimizer);

// Throws Error unless the block is 64-byte aligned and long enough.
void check_block(MutableBytes state, StateLayout const& layout);

// No NaN and no infinity in parameters, slots and buffers, from that block on.
bool all_finite(ByteView state, StateLayout const& layout, Block first = Block::parameter);
bool all_finite(ByteView floats);  // aligned as floats

// The counters of a state, as they lie in it.
struct Counters {
    std::int64_t* steps = nullptr;
    std::int64_t* samples = nullptr;  // rows trained so far, of every epoch
    std::int64_t *plateau_best = nullptr, *bad_epochs = nullptr, *reductions = nullptr;  // null: no plateau schedule
};
Counters counters_of(MutableBytes state, StateLayout const& layout);

}  // namespace hopscotch
