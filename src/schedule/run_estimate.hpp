// SPDX-License-Identifier: Apache-2.0
// The cost of a run as its experiment configures the strategy: one function for each row of strategy/strategy_table.cpp,
// which chooses among the closed forms of strategy_cost.hpp. Pure.
#pragma once
#include <optional>

#include "schedule/strategy_cost.hpp"

namespace hopscotch {

struct RunToEstimate {
    StrategyConfig strategy;
    Workload work;
    Cluster cluster;
    double hops_per_lap = 0;     // mean over trials
    bool knows_weights = true;   // false: work has no true weight_bytes
    bool knows_dataset = false;  // likewise dataset_bytes
};

// None: a number that the estimate needs is not known.
using EstimateRun = std::optional<Estimate> (*)(RunToEstimate const&);
std::optional<Estimate> estimate_mop_run(RunToEstimate const& run);
std::optional<Estimate> estimate_sequential_run(RunToEstimate const& run);
// Trainers start trials themselves and keep the weights, so less is sent than estimate_task_parallel says.
std::optional<Estimate> estimate_task_parallel_run(RunToEstimate const& run);
std::optional<Estimate> estimate_model_averaging_run(RunToEstimate const& run);
std::optional<Estimate> estimate_allreduce_run(RunToEstimate const& run);
std::optional<Estimate> estimate_parameter_server_run(RunToEstimate const& run);

}  // namespace hopscotch
