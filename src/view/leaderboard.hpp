// SPDX-License-Identifier: Apache-2.0
// The best trials as a table for the terminal, which a run prints at its end.
#pragma once
#include <string>

#include "rundir/summary.hpp"

namespace hopscotch {

// "lr=0.1 hidden=[64]": the last word of each path, or the whole path where two end alike.
std::string short_config(Assignment const& assignment);

inline constexpr std::size_t k_leaderboard_rows = 10;

// The best trials, best first by summary.metric, then the number of the other trials and of those without the metric. If
// configurations have copies: groups by their means, and the trial with the best model. No line is longer than `columns` (at
// least 40); configurations are shortened first.
std::string leaderboard(Summary const& summary, int columns);

// The whole configuration of the best trial, as --set takes it: "best: trial 3 with train.optimizer.lr=0.1
// model.hidden=[64]". Nothing is cut off: lines are broken between two settings. Empty if there is none.
std::string best_configuration(Summary const& summary, int columns);

}  // namespace hopscotch
