// SPDX-License-Identifier: Apache-2.0
// The parts of population based training (Jaderberg et al. 2017) that need no population.
#pragma once
#include <functional>

#include "experiment/space.hpp"
#include "search/draw.hpp"

namespace hopscotch {

// How many of a population are the worst, and the best: ceil(members * quantile), at most half of them.
std::size_t quantile_size(std::size_t members, double quantile);

// Another configuration near this one: with probability `resample` a value is drawn anew, else numbers are multiplied by one
// of the factors and stay within their bounds (integers and steps move by one at least), and a list goes to a neighbour.
Assignment explored(Space const& space, Assignment const& from, PbtConfig const& config, Uniform const& uniform);

}  // namespace hopscotch
