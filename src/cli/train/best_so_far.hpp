// SPDX-License-Identifier: Apache-2.0
// The best model of a run that has not finished (it goes on, or was interrupted or killed): there is no best/ yet.
#pragma once
#include <optional>

#include "comm/buffer_pool.hpp"
#include "data/dataset/manifest.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

struct RecordedRun;

// Of the laps that the journal has, of this trial or of all, the one with the best search.metric; of equals the lowest
// trial, then the first epoch. None: no lap has finished. with_file: only laps whose state is in a checkpoint.
std::optional<LapId> best_lap(RecordedRun const& run, std::optional<TrialId> trial, bool with_file = false);

// The state at the end of a lap, from a checkpoint whose hash is the journal's. None: no checkpoint has it.
std::optional<Buffer> state_in_checkpoint(RecordedRun const& run, LapId const& lap, BufferPool& pool);

// The data that a model of this run expects, from its dataset. Throws DataError if the dataset is not there, or has changed.
Manifest data_of(RecordedRun const& run);

}  // namespace hopscotch
