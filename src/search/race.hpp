// SPDX-License-Identifier: Apache-2.0
// search.race: which configurations are trained once more, because their copies so far cannot tell them from the best one.
// The test is Student's, of paired copies: copy k of all configurations has the same held-out shards, or the same kind of
// random numbers. The noise is that of all configurations together (docs/decisions/0085).
#pragma once
#include <cstddef>
#include <vector>

namespace hopscotch {

// Losses of the copies 0, 1, ... of a configuration, lower is better; at least one.
using CopyLosses = std::vector<double>;

// Indices, best first. most: copies that one configuration may have. If none has two copies yet: the best few.
std::vector<std::size_t> racers(std::vector<CopyLosses> const& configurations, std::size_t most);

// Of each configuration the mean that all copies would have: what the copies that it lacks add to all others is added. Also
// of values that are better if they are higher.
std::vector<double> race_means(std::vector<CopyLosses> const& configurations);

// Student's t with a whole number of degrees of freedom, at least 1: the value that is exceeded with probability 1 - p, for
// 0.5 < p < 1. To 4 digits or better from 3 degrees on, else to machine precision (Hill, CACM 13, 1970, algorithm 396).
double student_quantile(double p, std::size_t degrees);

}  // namespace hopscotch
