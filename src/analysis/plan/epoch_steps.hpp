// SPDX-License-Identifier: Apache-2.0
// The number of steps in an epoch of a trial, as real trainers cut it: by the step plan of a group, or of one trainer.
#pragma once
#include "analysis/forecast/planned_trial.hpp"

namespace hopscotch {

struct OwnerTable;
struct PreparedRun;
struct StrategyConfig;

double trained_share(PreparedRun const& prepared);  // of the rows: a trial of search.folds leaves out its part

// The steps of the group that owns the shards, and the rows of its busiest trainer, for which all others wait. owners: of
// all shards. By groups of the strategy's size: the steps of one bundle after another.
EpochSteps epoch_steps_in_groups(PreparedRun const& prepared, TrialId trial, StrategyConfig const& strategy);
EpochSteps epoch_steps(PreparedRun const& prepared, TrialId trial, OwnerTable const& owners, StrategyConfig const& strategy);

}  // namespace hopscotch
