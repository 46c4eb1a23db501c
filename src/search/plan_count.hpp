// SPDX-License-Identifier: Apache-2.0
// The number of trials and epochs of a procedure: a function for the row of each in search/procedure_table.cpp.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "experiment/config.hpp"
#include "search/plan.hpp"

namespace hopscotch {

// Numbers of configurations: requested, allowed by the budget or listed (none: not given), and existing.
struct Limits {
    std::optional<std::int64_t> trials, epochs;
    std::int64_t there = 0;

    std::int64_t at_most(std::int64_t wanted) const { return std::min({wanted, trials.value_or(wanted), there}); }
};

struct PlanInput {
    Experiment const& experiment;
    Limits limit;
    int longest = 1;  // epochs of any trial
    Halving halving;
    std::int64_t many = 0;  // trials, if a trial has one epoch at least
    std::vector<std::int64_t> const& stages;
};

void count_trials(PlanInput const& input, SearchPlan& plan);          // all train to their end
void count_trials_at_most(PlanInput const& input, SearchPlan& plan);  // some are stopped before
void count_halving(PlanInput const& input, SearchPlan& plan);
void count_best_after(PlanInput const& input, SearchPlan& plan);
void count_hyperband(PlanInput const& input, SearchPlan& plan);
void count_asha(PlanInput const& input, SearchPlan& plan);
void count_population(PlanInput const& input, SearchPlan& plan);

}  // namespace hopscotch
