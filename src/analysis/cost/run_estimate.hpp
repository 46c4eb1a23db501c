// SPDX-License-Identifier: Apache-2.0
// The cost of a run as its experiment configures the strategy. Each strategy has a row in the table of run_estimate.cpp: the
// function that chooses among the closed forms of strategy_cost.hpp. Pure.
#pragma once
#include <optional>

#include "analysis/cost/strategy_cost.hpp"

namespace hopscotch {

struct RunToEstimate {
    StrategyConfig strategy;
    Workload work;
    Cluster cluster;
    double hops_per_lap = 0;     // mean over trials
    int bundles = 1;             // of a lap, with strategy.group_size; then the cluster's trainers are groups
    bool knows_weights = true;   // false: work has no true weight_bytes
    bool knows_dataset = false;  // likewise dataset_bytes
};

// None: a number that the estimate needs is not known. Throws Error if the table has no row for the strategy.
std::optional<Estimate> estimate_run(RunToEstimate const& run);

}  // namespace hopscotch
