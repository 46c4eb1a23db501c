// SPDX-License-Identifier: Apache-2.0
// A prepared run as the forecast takes it: trials with sizes, steps and costs, and how each strategy would train them.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/forecast/strategy_forecast.hpp"
#include "app/plan/trial_costs.hpp"
#include "schedule/simulate_search.hpp"

namespace hopscotch {

struct PreparedRun;
struct StrategyConfig;

class PlannedRun {
public:
    // Keeps `prepared`. A search that decides has used up its director by a simulation. Without it, its epochs are spread
    // evenly.
    PlannedRun(PreparedRun& prepared, CostTable const& costs);

    // Where seconds are not known, the work of all trials together is 1.
    std::vector<PlannedTrial> const& trials() const { return trials_; }
    int shards() const;
    std::int64_t dataset_bytes() const;
    std::vector<TrialCost> unit_costs() const;  // in the unit of the trials' seconds
    bool spread_evenly() const;

    // As the experiment configures the strategy, or with the strategy's defaults.
    StrategyConfig settings_of(std::string const& strategy) const;
    std::string refusal_of(StrategyConfig const& strategy) const;  // empty: it can train the experiment
    StrategyCase case_of(StrategyConfig const& strategy) const;
    std::vector<SimulatedUnit> const& tasks() const { return tasks_; }  // of mop, in the unit of tasks_makespan()
    double tasks_makespan() const { return tasks_makespan_; }
    std::optional<double> simulated_s() const { return simulated_s_; }
    std::optional<double> simulated_busy() const { return simulated_busy_; }

private:
    void simulate_decisions();
    void simulate_units();
    void add_trials(CostTable const& costs);
    double work_s() const;
    EpochSteps steps_of(std::size_t trial, OwnerTable const& owners, StrategyConfig const& strategy) const;

    PreparedRun& prepared_;
    OwnerTable mop_owners_;
    std::vector<PlannedTrial> trials_;
    std::vector<std::size_t> of_director_;  // by planned trial: its place among the director's trials
    std::vector<SimulatedUnit> tasks_;
    double tasks_makespan_ = 0;
    std::optional<SearchSimulation> simulated_;
    std::optional<double> simulated_s_, simulated_busy_;
};

}  // namespace hopscotch
