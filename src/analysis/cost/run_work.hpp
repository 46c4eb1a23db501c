// SPDX-License-Identifier: Apache-2.0
// The work of a run, read from its journal: the inputs of the cost model.
#pragma once
#include <cstdint>
#include <map>
#include <vector>

#include "experiment/strategy_config.hpp"
#include "schedule/visit.hpp"

namespace hopscotch {

struct RecordedRun;

// One trial in one run.
struct TrialWork {
    Assignment assignment;
    std::int64_t finished_epochs = 0;
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

// Throws DataError for a damaged file of units.
RunWork work_of(RecordedRun const& run);

// Seconds of a step of one trial in one run, fitted over all runs; the run's own mean if all have steps of one size.
double fitted_step_s(std::vector<RunWork> const& runs, std::size_t run, TrialId trial);

}  // namespace hopscotch
