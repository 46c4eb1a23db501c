// SPDX-License-Identifier: Apache-2.0
// What a search knows before its first trial: the results of search.start_from.
#pragma once
#include <cstdint>
#include <optional>

#include "experiment/search_config.hpp"
#include "search/context.hpp"
#include "search/history.hpp"

namespace hopscotch {

struct Experiment;
struct Space;

// A rule compares trials after the same number of epochs: later results of a longer run do not count.
History known_before(Experiment const& experiment, Space const& space, SearchContext const& context);

// The first bound of search.subject_to on a size that a configuration misses. None: it meets them, or sizes are not known.
struct MissedBound {
    Constraint bound;
    double value;
};
std::optional<MissedBound> missed_bound(SearchConfig const& search, Measure const& measure, Assignment const& assignment);

// Adds the best configurations of the earlier run to space.start_with, best first: by their last results, of several
// objectives by rank. As many as search.start_with_best says, without those that failed, that start_with has, or that this
// experiment refuses.
void start_with_best(Space& space, History const& known, Experiment const& experiment, Measure const& measure);

}  // namespace hopscotch
