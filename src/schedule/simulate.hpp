// SPDX-License-Identifier: Apache-2.0
// The event simulation of visit.hpp with a look at every task: for tests, plans and Gantt charts.
#pragma once
#include <cstdint>
#include <vector>

#include "schedule/virtual_cluster.hpp"
#include "schedule/visit.hpp"

namespace hopscotch {

Simulation simulate_planned(std::vector<TrialCost> const& trials, OwnerTable const& owners, std::int64_t in_flight,
                            SimulatedTask const& on_task);

}  // namespace hopscotch
