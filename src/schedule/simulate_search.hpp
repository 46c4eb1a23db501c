// SPDX-License-Identifier: Apache-2.0
// How busy a search that decides on the way keeps its trainers: its director on a cluster in numbers, with made-up results.
// For plans: a rung that waits for all of its trials shows here before it costs anything. PURE.
#pragma once
#include <cstdint>
#include <optional>

#include "schedule/director.hpp"
#include "schedule/visit.hpp"

namespace hopscotch {

struct SearchSimulation {
    double makespan = 0;  // FLOPs, as the trials' unit_cost; validation left out
    double busy = 0;      // share of the trainers' time until then
    std::int64_t laps = 0;
};

// director: a fresh one; it is used up. Trials get better with their epochs, each towards a value of its own that is drawn
// from the seed. None: there would be more than most_units to go through.
std::optional<SearchSimulation> simulate_search(Director& director, OwnerTable const& owners, std::uint64_t seed,
                                                std::int64_t most_units = 2'000'000);

}  // namespace hopscotch
