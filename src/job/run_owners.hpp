// SPDX-License-Identifier: Apache-2.0
// The shards that each trainer of a run holds: as the strategy, the speed of the trainers and the memory allow.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "schedule/owners.hpp"
#include "schedule/visit.hpp"

namespace hopscotch {

struct PreparedRun;

// The questions for plan_owners(). speed: by trainer; empty: all are equal.
OwnersRequest owners_request(PreparedRun const& prepared, std::vector<double> const& speed);

// trials: with their routes, if the search decides nothing; else empty.
OwnerTable owners_of_run(PreparedRun const& prepared, std::span<TrialCost const> trials,
                         std::vector<double> const& speed = {});

// "1.00 0.50 1.00", of the trainers that are not lost.
std::string speeds_text(std::vector<double> const& speed);

// Of an extended run whose bits depend on the owners: those that it began with.
void keep_owners(PreparedRun& prepared);

}  // namespace hopscotch
