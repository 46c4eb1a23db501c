// SPDX-License-Identifier: Apache-2.0
// The Pareto front of two measures: the points that no other point dominates. PURE.
#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "experiment/search_config.hpp"

namespace hopscotch {

using TwoValues = std::array<double, 2>;

// True if a is at least as good as b in both values, and better in one.
bool dominates(TwoValues const& a, TwoValues const& b, std::array<Mode, 2> modes);

// Indices of the points that no other point dominates, by the first value, best first. Points that are equal in both values
// are all there, by index. A point with a value that is not finite is not on the front, and dominates no point.
std::vector<std::size_t> pareto_front(std::vector<TwoValues> const& points, std::array<Mode, 2> modes);

}  // namespace hopscotch
