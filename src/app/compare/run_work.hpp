// SPDX-License-Identifier: Apache-2.0
// The work of a run, read from its journal: the inputs of the cost model.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "app/compare/compared_run.hpp"
#include "schedule/visit.hpp"

namespace hopscotch {

// One trial in one run.
struct TrialWork {
    std::int64_t epochs = 0, batch = 1;  // laps with units; rows of a batch, of all trainers together
    std::int64_t steps = 0;   // of all epochs, one after another: where all train it, those of the trainer with most
    double local_rows = 0;    // of a trainer's step, on average
    double step_s = 0;        // of computation
    double validation_s = 0;  // of an epoch
    std::int64_t state_bytes = 0;
    HeldOut held_out = {};
    Route route = {};
};

struct RunWork {
    StrategyConfig strategy;
    OwnerTable owners;
    int workers = 1;  // trainers that own shards
    std::map<TrialId, TrialWork> trials;

    bool group() const;   // all workers train a trial together
    int members() const;  // that train a trial together: all workers, strategy.group_size, or one
};

// Throws DataError for a damaged journal or an experiment.json that this version cannot read.
RunWork read_work(ComparedRun const& run);

// Seconds of a step, c0 + c1 x of its local rows x, of one trial over all runs: least squares weighted by steps. The run's
// own mean if all runs have the same x, or if a part of the line is negative (noise).
double fitted_step_s(std::vector<RunWork> const& runs, std::size_t run, TrialId trial);

}  // namespace hopscotch
