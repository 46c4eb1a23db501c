// SPDX-License-Identifier: Apache-2.0
// The event simulation of visit.hpp with a look at every task: for tests, plans and Gantt charts.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "schedule/visit.hpp"

namespace hopscotch {

struct SimulatedUnit {
    TrialId trial;
    int epoch = 0;
    int step = 0;  // of the lap, 0..S-1; S: the validation
    TrainerId trainer;
    double start = 0, end = 0;
};
using SimulatedTask = std::function<void(SimulatedUnit const&)>;  // called when a task starts

Simulation simulate_planned(std::vector<TrialCost> const& trials, OwnerTable const& owners, std::int64_t in_flight,
                            SimulatedTask const& on_task);

}  // namespace hopscotch
