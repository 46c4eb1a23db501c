// SPDX-License-Identifier: Apache-2.0
// A prepared run as the forecast takes it: its trials with sizes, steps and costs, and mop's simulated schedule.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "app/forecast/planned_trial.hpp"
#include "schedule/virtual_cluster.hpp"

namespace hopscotch {

class CostTable;
struct PreparedRun;

class PlannedRun {
public:
    // Keeps `prepared`. A search that decides has used up its director by a simulation. Where there can be none, its epochs
    // are spread evenly over the trials that are known.
    PlannedRun(PreparedRun const& prepared, CostTable const& costs);

    // Where seconds are not known, the work of all trials together is 1.
    std::vector<PlannedTrial> const& trials() const { return trials_; }
    std::vector<TrialCost> unit_costs() const;  // in the unit of the trials' seconds
    bool spread_evenly() const;
    OwnerTable const& mop_owners() const { return mop_owners_; }

    std::int64_t dataset_bytes() const;  // of the training rows

    // Of mop; none, and no chart: it is too large, or results would end the search.
    std::string gantt(std::size_t columns) const;
    std::optional<double> simulated_s() const { return simulated_s_; }
    std::optional<double> simulated_busy() const { return simulated_busy_; }

private:
    void simulate_decisions();
    void simulate_units();
    void add_trials(CostTable const& costs);

    PreparedRun const& prepared_;
    OwnerTable mop_owners_;
    std::vector<PlannedTrial> trials_;
    std::vector<SimulatedUnit> tasks_;
    double tasks_makespan_ = 0;  // in the tasks' unit
    std::optional<double> simulated_s_, simulated_busy_;
};

}  // namespace hopscotch
