// SPDX-License-Identifier: Apache-2.0
// Replays strategies whose bits depend on the number of trainers, with the same number of trainers as threads of this
// process.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "core/ids.hpp"

namespace hopscotch {

struct Experiment;
struct Journal;
struct OwnerTable;

struct ReplayedLaps {
    std::int64_t laps = 0;
    std::vector<std::string> differences;  // the first of each trial
};

// Trains every finished lap of these trials again, in the journal's order, and compares the state hash at its end.
// Throws ConfigError if the model draws from torch's own generator, which threads would share.
ReplayedLaps replay_together(Experiment const& experiment, Journal const& journal, OwnerTable const& owners,
                             std::set<TrialId> const& trials);

}  // namespace hopscotch
