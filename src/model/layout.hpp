// SPDX-License-Identifier: Apache-2.0
// Builds the layout of a state from what a network and an optimizer ask for, and writes its first bytes. Slots are laid out
// exactly like the parameters, so that the fused update is one call over one flat range per kind.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/byte_view.hpp"
#include "core/ids.hpp"
#include "experiment/config.hpp"
#include "model/state.hpp"

namespace hopscotch {

inline constexpr std::size_t k_state_alignment = 64;  // a cache line and the widest vector register

struct ParameterSpec {
    std::string name;
    std::vector<std::int64_t> shape;
    double bound = 0;  // initial values are uniform in (-bound, bound)

    std::int64_t elements() const;
};

// torch's default for Linear and Conv: kaiming_uniform(a = sqrt(5)) is U(+-1/sqrt(fan_in)), for the weight and for the bias.
// Appends "<name>.weight" of that shape (outputs first) and "<name>.bias".
void add_affine(std::vector<ParameterSpec>& specs, std::string const& name, std::vector<std::int64_t> const& shape);

// What the optimizer keeps per parameter: {}, {"momentum"} or {"exp_avg", "exp_avg_sq"}.
std::vector<std::string> slot_kinds(OptimizerConfig const& optimizer);

// Parameters, then one equally laid out range per slot kind, then the counters "steps" and "samples".
StateLayout make_layout(std::vector<ParameterSpec> const& parameters, std::vector<std::string> const& slots);

// Zeros the whole block (padding too), then draws every parameter in order from the stream of (seed, trial).
void initialise_state(MutableBytes state, StateLayout const& layout, std::vector<ParameterSpec> const& parameters,
                      std::uint64_t seed, TrialId trial);

// Throws Error unless the block is 64-byte aligned and long enough.
void check_block(MutableBytes state, StateLayout const& layout);

// No NaN and no infinity in parameters, slots and buffers.
bool all_finite(ByteView state, StateLayout const& layout);

// The two counters of a state, as they lie in it.
struct Counters {
    std::int64_t* steps = nullptr;
    std::int64_t* samples = nullptr;  // rows trained so far, of every epoch
};
Counters counters_of(MutableBytes state, StateLayout const& layout);

}  // namespace hopscotch
