// SPDX-License-Identifier: Apache-2.0
// A row of the plan: the cost of one strategy on a number of trainers. Time is from the closed forms of
// analysis/cost/run_estimate.hpp; mop's also from a simulation, which the caller makes. PURE.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/cost/run_estimate.hpp"
#include "analysis/forecast/planned_trial.hpp"

namespace hopscotch {

std::string time_text(double seconds, bool knows_seconds);  // "2.50s", "1h05m"; unknown: "0.250 W", of one trainer's time

struct PlanBasis {
    std::vector<PlannedTrial> trials;
    std::int64_t dataset_bytes = 0;  // of the training rows
    bool knows_seconds = false;      // false: times are in units of one trainer's time, and communication costs none
    Link link;
    std::optional<double> price_per_trainer_hour;
};

struct StrategyCase {
    StrategyConfig strategy;
    int trainers = 1, workers = 1;      // of the job; those that train
    std::vector<EpochSteps> group;      // by trial, if trainers train a trial together; else empty
    int bundles = 1;                    // mop with strategy.group_size: of a lap; then the workers are groups
    double hops_per_lap = 0;            // mop
    std::optional<double> simulated_s;  // mop: a makespan without hops
};

struct MemoryForecast {
    std::uint64_t training = 0;    // of a trainer: the model that trains, its gradient, a state on its way
    std::uint64_t waiting = 0;     // of a trainer: states that wait, as far as run.state_memory lets them
    std::uint64_t rows = 0;        // of a trainer: training rows (data.cache all)
    std::uint64_t validation = 0;  // of a host: validation rows
    std::uint64_t rank0 = 0;
    std::uint64_t trainer() const { return training + waiting + rows + validation; }
};

struct StrategyForecast {
    StrategyConfig strategy;
    std::string refused;  // the reason why the strategy cannot train the experiment; empty: it can
    double makespan_s = 0, busy = 0, communication_s = 0;
    double times_bound = 0;                          // makespan over the machine's bound, work / trainers
    std::int64_t network_bytes = 0, link_bytes = 0;  // link: what a trainer sends, on average
    std::int64_t data_bytes = 0;                     // training rows on all trainers
    std::uint64_t run_dir_bytes = 0;
    MemoryForecast memory;
    std::optional<double> price;
};

StrategyForecast forecast(PlanBasis const& basis, StrategyCase const& what);

}  // namespace hopscotch
