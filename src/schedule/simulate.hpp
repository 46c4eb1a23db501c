// SPDX-License-Identifier: Apache-2.0
// The event simulation of visit.hpp with a callback for every task: for tests and Gantt charts.
#pragma once
#include <cstdint>
#include <vector>

#include "schedule/virtual_cluster.hpp"
#include "schedule/visit.hpp"

namespace hopscotch {

Simulation simulate(Policy const& policy, std::vector<TrialCost> const& trials, OwnerTable const& owners,
                    std::int64_t in_flight, SimulatedTask const& on_task);

}  // namespace hopscotch
