// SPDX-License-Identifier: Apache-2.0
// The Pareto front of two measures: what nothing else beats in one of them without losing in the other. PURE.
#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "experiment/search_config.hpp"

namespace hopscotch {

using TwoValues = std::array<double, 2>;

// Is a at least as good as b in both, and better in one?
bool dominates(TwoValues const& a, TwoValues const& b, std::array<Mode, 2> modes);

// Indices of the points that no other dominates, by the first value, best first; equals of both values are all there, by
// index. A point with a value that is not finite is not on the front, and dominates nothing.
std::vector<std::size_t> pareto_front(std::vector<TwoValues> const& points, std::array<Mode, 2> modes);

}  // namespace hopscotch
