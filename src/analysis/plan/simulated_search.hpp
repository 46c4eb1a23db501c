// SPDX-License-Identifier: Apache-2.0
// The search of an experiment on a simulated cluster: its own director and policy, with made-up results. --dry-run and
// `hopscotch plan` share this.
#pragma once
#include <optional>

#include "direct/simulate_search.hpp"

namespace hopscotch {

struct PreparedRun;

inline constexpr std::int64_t k_most_simulated = 2000;  // trials: more would take too long

// Of a run of mop; of another strategy as mop would deal shards out.
OwnerTable owners_for_mop(PreparedRun const& prepared);

// Uses up the director: its trials then have the number of epochs that each has trained. None: results would end the search
// at any point (budget.target, budget.patience), or it is too large.
std::optional<SearchSimulation> simulated_search(PreparedRun const& prepared, OwnerTable const& owners,
                                                 std::function<void(SimulatedUnit const&)> const& on_task = {});

}  // namespace hopscotch
