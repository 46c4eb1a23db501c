// SPDX-License-Identifier: Apache-2.0
// The sizes of the states of a run's trials, before any of them is trained.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "experiment/assignment.hpp"

namespace hopscotch {

struct PreparedRun;
struct TrialView;

struct TrialBytes {
    std::uint64_t state = 0, weights = 0;  // weights: its parameters
};

// Trials with equal text have states of one size: a number under "train" only says whether there is a slot (momentum, ema).
std::string state_shape_of(Assignment assignment);

// Of the largest of the trials that are known at the start: one model for each shape of a state is made, unless
// prepared.plan.state_bytes tells.
TrialBytes largest_trial(PreparedRun const& prepared);
TrialBytes largest_trial(PreparedRun const& prepared, std::vector<TrialView> const& trials);

}  // namespace hopscotch
