// SPDX-License-Identifier: Apache-2.0
// The number of trials in training at once, for a search that decides nothing. PURE. More of them keep trainers busier where
// costs differ; each takes memory for its state and room for its checkpoints. No bit depends on the number.
#pragma once
#include <cstdint>
#include <span>

#include "schedule/visit.hpp"

namespace hopscotch {

// Of a run whose costs are not known, or which would take too long to simulate.
inline std::int64_t usual_in_flight(int trainers) { return 4 * static_cast<std::int64_t>(trainers); }

struct InFlight {
    std::int64_t trials = 0;
    // Simulated makespan over owners_bound(), with this many trials, and with the usual number if that is smaller. 0: not
    // simulated.
    double ratio = 0, usual_ratio = 0;
};

struct InFlightRange {
    std::int64_t least = 1, most = INT64_MAX;
};

// Owners for these trials: plan_owners(), or whole shards if their simulated makespan is not longer. trials: with their
// routes; empty: they are not known yet.
OwnerTable choose_owners(Policy const& policy, std::span<TrialCost const> trials, OwnersRequest const& request);

// The smallest number in the range, and a power of two times `least`, whose simulated makespan is within 1 % of the bound.
// If there is none, the smallest of the numbers that come nearest. trials: with their routes.
InFlight choose_in_flight(Policy const& policy, std::span<TrialCost const> trials, OwnerTable const& owners,
                          InFlightRange range = {});

}  // namespace hopscotch
