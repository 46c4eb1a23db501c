// SPDX-License-Identifier: Apache-2.0
// The best model of a run that has not finished: it goes on, or was interrupted or killed, and nobody has written best/.
#pragma once
#include <filesystem>
#include <optional>

#include "comm/buffer_pool.hpp"
#include "data/dataset/manifest.hpp"
#include "experiment/config.hpp"
#include "run/journal.hpp"

namespace hopscotch {

struct RunFacts;

// A run as its files are at this moment.
struct RunSoFar {
    std::filesystem::path directory;
    Experiment const& experiment;
    RunFacts const& facts;
    Journal const& journal;
};

// Of the laps that the journal has, of this trial or of all, the one with the best search.metric; of equals the lowest
// trial, then the first epoch. None: no lap has finished. with_file: only laps whose state is in a checkpoint.
std::optional<LapId> best_lap(RunSoFar const& run, std::optional<TrialId> trial, bool with_file = false);

// The state at the end of a lap, from a checkpoint whose hash is the journal's. None: no checkpoint has it.
std::optional<Buffer> state_in_checkpoint(RunSoFar const& run, LapId const& lap, BufferPool& pool);

// What a model of this run expects, from its dataset. Throws DataError if that is not there, or is another one now.
Manifest data_of(RunSoFar const& run);

}  // namespace hopscotch
