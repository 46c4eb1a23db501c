// SPDX-License-Identifier: Apache-2.0
// The bytes that a run will take at its peak: in its run directory, and in the memory of its trainers.
#pragma once
#include <cstdint>
#include <string>

#include "job/largest_trial.hpp"

namespace hopscotch {

struct PreparedRun;
struct StrategyConfig;

struct Storage {
    std::uint64_t checkpoints = 0;  // run.checkpoint_keep of each trial that is alive, one that each trainer writes, and the
                                    // best states that run.keep_best asks for
    std::uint64_t units = 0;        // units-N.bin
    std::uint64_t lines = 0;        // journal, metrics, trace, tb/
    std::uint64_t best = 0;         // best/
    std::uint64_t states = 0;       // of a trainer: its part of those that are alive; all of them, if each holds each
    std::uint64_t validation = 0;   // the validation rows, which every host holds once
    std::uint64_t run_dir() const { return checkpoints + units + lines + best; }
};

// Of a run that has not begun, if this strategy trained it. Searches that clone keep more checkpoints while a decision may
// ask for them.
Storage storage_of(PreparedRun const& prepared, StrategyConfig const& strategy, TrialBytes const& largest);

// Bytes that the file system of run.dir has free; UINT64_MAX: not known.
std::uint64_t free_space(PreparedRun const& prepared);

// The bytes that the file system of run.dir lacks for that; empty: nothing.
std::string missing_space(PreparedRun const& prepared, Storage const& storage);

}  // namespace hopscotch
