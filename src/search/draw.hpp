// SPDX-License-Identifier: Apache-2.0
// Draws values of a space from a source of uniform numbers, in the way of Optuna's RandomSampler (same transforms, same
// number of draws): fed with NumPy's stream it gives Optuna's values. An int covers half a step beyond its bounds; a choice
// of n takes n numbers, and the largest wins.
#pragma once
#include <functional>

#include "experiment/space.hpp"

namespace hopscotch {

using Uniform = std::function<double()>;  // each call: the next number of [0, 1)

Json draw(Parameter const& parameter, Uniform const& uniform);

// The value at a place of [0, 1): for sequences that fill the space evenly, one number a parameter.
Json value_at(Parameter const& parameter, double place);

// One configuration: parents before children, inactive parameters absent (and nothing drawn for them).
Assignment draw(Space const& space, Uniform const& uniform);

}  // namespace hopscotch
