// SPDX-License-Identifier: Apache-2.0
// The parts of population based training (Jaderberg et al. 2017) that do not need the population.
#pragma once
#include <functional>

#include "experiment/space.hpp"
#include "search/draw.hpp"

namespace hopscotch {

// Size of the worst group, and of the best one: ceil(members * quantile), at most half of the members.
std::size_t quantile_size(std::size_t members, double quantile);

// A configuration near this one. With probability `resample` a value is drawn anew. Else a number is multiplied by one of
// the factors and stays within its bounds (integers and steps move by at least one), and a list goes to a neighbour.
Assignment explored(Space const& space, Assignment const& from, PbtConfig const& config, Uniform const& uniform);

}  // namespace hopscotch
