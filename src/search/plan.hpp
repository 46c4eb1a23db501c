// SPDX-License-Identifier: Apache-2.0
// The cost of a search before it starts: trials, rungs, epochs. For --dry-run.
#pragma once
#include <string>
#include <vector>

#include "search/context.hpp"
#include "search/rungs.hpp"

namespace hopscotch {

struct Experiment;

struct SearchPlan {
    enum class Bound { exact, about, at_most };  // of epochs, if no trial fails

    std::vector<std::vector<Rung>> brackets;  // sizes at most; one rung in one bracket: all trials to their end
    std::int64_t iterations = 1;              // of all the brackets; the last may be cut short
    std::int64_t trials = 0;                  // each copy of a configuration is a trial
    int copies = 1;                           // of each: search.repeats x search.folds; brackets count configurations
    std::int64_t epochs = 0;                  // of all trials together; a decision never trains an epoch again
    Bound bound = Bound::exact;
};

// Throws ConfigError as make_search does.
SearchPlan plan_of(Experiment const& experiment, SearchContext const& context = {});

// Lines for a terminal: the table of rungs and the sums.
std::string text_of(SearchPlan const& plan);

}  // namespace hopscotch
