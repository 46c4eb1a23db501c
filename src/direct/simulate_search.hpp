// SPDX-License-Identifier: Apache-2.0
// The load of the trainers under a search that decides on the way: its director on a simulated cluster, with made-up
// results. --dry-run shows the cost of rungs that wait for all of their trials. PURE.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "direct/director.hpp"
#include "schedule/visit.hpp"

namespace hopscotch {

struct SimulatedUnit;  // schedule/virtual_cluster.hpp

struct SearchSimulationOptions {
    std::uint64_t seed = 0;
    std::int64_t most_units = 2'000'000;
    std::vector<std::string> own_metrics = {};               // of the user's own, that the search compares
    std::function<void(SimulatedUnit const&)> on_task = {};  // called for every unit, for Gantt charts
};

struct SearchSimulation {
    double makespan = 0;  // FLOPs, as the trials' unit_cost; validation left out
    double busy = 0;      // share of the trainers' time until then
    std::int64_t laps = 0;
};

// director: a new one; the simulation uses it up. Trials get better with their epochs, each towards its own value, drawn
// from the seed. None: the search would take more than most_units.
std::optional<SearchSimulation> simulate_search(Policy const& policy, Director& director, OwnerTable const& owners,
                                                SearchSimulationOptions const& options);

}  // namespace hopscotch
