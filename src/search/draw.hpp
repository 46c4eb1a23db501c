// SPDX-License-Identifier: Apache-2.0
// Draws values of a space from uniform numbers like Optuna's RandomSampler (same transforms, same number of draws). With
// NumPy's stream the values are Optuna's. An int covers half a step beyond its bounds. A choice of n takes n numbers, and
// the largest wins. A prior takes as many numbers.
#pragma once
#include <functional>

#include "experiment/space.hpp"

namespace hopscotch {

using Uniform = std::function<double()>;  // each call: the next number of [0, 1)

Json draw(Parameter const& parameter, Uniform const& uniform);

// The value at a place of [0, 1), for sequences that fill the space evenly with one number a parameter.
Json value_at(Parameter const& parameter, double place);

// One configuration: parents before children. Inactive parameters are absent, and take no numbers.
Assignment draw(Space const& space, Uniform const& uniform);

}  // namespace hopscotch
