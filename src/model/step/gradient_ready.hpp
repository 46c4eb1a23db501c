// SPDX-License-Identifier: Apache-2.0
// How a training pass reports finished parts of a gradient, so that they can be sent while it computes the others.
#pragma once
#include <cstddef>
#include <functional>

namespace hopscotch {

// The floats [first, last) of the flat gradient are final. Called on the thread that computes.
using GradientReady = std::function<void(std::size_t first, std::size_t last)>;

}  // namespace hopscotch
