// SPDX-License-Identifier: Apache-2.0
// What the zoo's entries share when they read their arguments and count their cost.
#pragma once
#include <cstdint>

#include "core/json_reader.hpp"
#include "model/trial_model.hpp"

namespace hopscotch {

Check<double> fraction();  // [0, 1)

std::int64_t elements(std::vector<std::int64_t> const& shape);

// 2 FLOPs a multiply-add, once forward and twice backward (for the input and for the weight).
inline constexpr double k_flops_per_multiply_add = 6;

// "64" or "1x8x8"
std::string shape_text(std::vector<std::int64_t> const& shape);

// Reads the arguments of a configuration that check_model has accepted.
template <class Arguments>
Arguments accepted(ModelConfig const& model, Arguments (*read)(ModelConfig const&, Problems&)) {
    Problems problems("model");
    auto const arguments = read(model, problems);
    problems.throw_if_any();
    return arguments;
}

}  // namespace hopscotch
