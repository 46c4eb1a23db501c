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
    enum class Bound { exact, at_most, between };

    std::vector<std::vector<Rung>> brackets;  // sizes at most; one rung in one bracket: all trials to their end
    std::int64_t iterations = 1;              // of all the brackets; the last may be cut short
    std::int64_t trials = 0;                  // each copy of a configuration is a trial
    Bound trials_bound = Bound::exact;        // at_most: a budget or results may end the search before
    int copies = 1;                           // of each: search.repeats x search.folds; brackets count configurations
    std::int64_t racing = 0;                  // search.race: configurations, which have a copy each, and up to `copies`
    std::int64_t epochs = 0;                  // of all trials together, as expected; a decision never trains an epoch again
    std::int64_t least = 0, most = 0;         // bounds of the epochs, if no trial fails; least 0: not known
    std::vector<std::string> objectives;      // "val_accuracy (max)"; empty: one
    std::string chosen;                       // text_of_choice()
    int late_start = 0;                       // epochs before any decision, by the default of search.min_epochs; or 0

    Bound bound() const { return least == most ? Bound::exact : least == 0 ? Bound::at_most : Bound::between; }
    void set_epochs(std::int64_t exactly) { epochs = least = most = exactly; }
};

// Throws ConfigError as make_search does.
SearchPlan plan_of(Experiment const& experiment, SearchContext const& context = {});

// "27 trials, between 81 and 593 epochs in all"
std::string sums_text(SearchPlan const& plan);

// Lines for a terminal: the table of rungs and the sums.
std::string text_of(SearchPlan const& plan);

}  // namespace hopscotch
