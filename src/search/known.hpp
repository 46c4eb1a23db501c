// SPDX-License-Identifier: Apache-2.0
// What a search knows before its first trial: the results of search.start_from.
#pragma once
#include <cstdint>

#include "search/context.hpp"
#include "search/history.hpp"

namespace hopscotch {

struct Experiment;
struct Space;

// A rule compares trials after the same number of epochs: later results of a longer run do not count.
History known_before(Experiment const& experiment, Space const& space, SearchContext const& context);

// Adds the best configurations of the earlier run to space.start_with, best first: by their last results, of several
// objectives by rank. At most `count`; none that has failed, or that start_with has.
void start_with_best(Space& space, History const& known, std::int64_t count);

}  // namespace hopscotch
