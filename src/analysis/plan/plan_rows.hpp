// SPDX-License-Identifier: Apache-2.0
// The rows of a plan, a strategy each, on one number of trainers; and where all-reduce overtakes mop.
#pragma once
#include <optional>
#include <vector>

#include "analysis/forecast/plan_report.hpp"

namespace hopscotch {

class PlannedRun;
struct PreparedRun;

bool is_hopping(PreparedRun const& prepared);  // by its strategy

// Of each strategy: what it would take, or why it refuses.
std::vector<StrategyForecast> rows_of(PreparedRun const& prepared, PlannedRun const& planned, PlanBasis const& basis);

// None: seconds are not known, or one trainer has all shards.
std::optional<Crossovers> crossovers_of(PreparedRun const& prepared, PlannedRun const& planned, PlanBasis const& basis);

}  // namespace hopscotch
