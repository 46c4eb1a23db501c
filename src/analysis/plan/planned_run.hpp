// SPDX-License-Identifier: Apache-2.0
// A prepared run for the forecast: its trials with sizes, steps and costs, and mop's simulated schedule.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/forecast/planned_trial.hpp"
#include "schedule/virtual_cluster.hpp"

namespace hopscotch {

class CostTable;
struct PlanBasis;
struct Policy;
struct PreparedRun;

class PlannedRun {
public:
    // Keeps `prepared`. A search that decides has used up its director by a simulation. Where there can be none, its epochs
    // are spread evenly over the trials that are known.
    // link: of groups of trainers, where seconds are known.
    PlannedRun(PreparedRun const& prepared, CostTable const& costs, Link const& link);

    // Where seconds are not known, the work of all trials together is 1.
    std::vector<PlannedTrial> const& trials() const { return trials_; }
    // In the unit of the trials' seconds. Of the run's strategy, or of mop with this strategy.group_size.
    std::vector<TrialCost> unit_costs() const;
    std::vector<TrialCost> unit_costs(StrategyConfig const& strategy) const;
    bool spread_evenly() const;
    OwnerTable const& mop_owners() const { return mop_owners_; }

    std::int64_t dataset_bytes() const;  // of the training rows
    Policy const& policy() const;        // of the run's strategy

    // Of mop; none, and no chart: it is too large, or results would end the search.
    std::string gantt(std::size_t columns) const;
    double hops_per_lap(Policy const& policy) const;  // mean
    std::optional<double> simulated_s() const { return simulated_s_; }
    std::optional<double> simulated_busy() const { return simulated_busy_; }

private:
    void simulate_decisions();
    void simulate_units();
    void add_trials(CostTable const& costs);

    double mop_work_s() const;
    double unit_s(PlannedTrial const& trial, StrategyConfig const& strategy) const;
    double validation_s(PlannedTrial const& trial, StrategyConfig const& strategy) const;

    PreparedRun const& prepared_;
    Link link_;
    OwnerTable mop_owners_;
    std::vector<PlannedTrial> trials_;
    std::vector<SimulatedUnit> tasks_;
    double tasks_makespan_ = 0;  // in the tasks' unit
    std::optional<double> simulated_s_, simulated_busy_;
};

// The line that proposes groups of trainers (group_choice.hpp); empty: they would not pay.
std::string proposed_groups(PreparedRun const& prepared, PlannedRun const& planned, PlanBasis const& basis);

}  // namespace hopscotch
