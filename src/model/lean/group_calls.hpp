// SPDX-License-Identifier: Apache-2.0
// The messages of a model in training to the trainers that train it together. The model does not know these trainers.
#pragma once
#include <cstddef>
#include <functional>
#include <span>

namespace hopscotch {

// Replaces values by their sums over all trainers of a step; all of them call it equally often, in one order.
using SumOverGroup = std::function<void(std::span<double> values)>;

// The floats [first, last) of the flat gradient are final, so they can be sent while others are computed. Called on the
// thread that computes.
using GradientReady = std::function<void(std::size_t first, std::size_t last)>;

}  // namespace hopscotch
