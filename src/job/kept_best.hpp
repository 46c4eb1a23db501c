// SPDX-License-Identifier: Apache-2.0
// The best states that an earlier job has written to best/. A run that goes on after its end has no checkpoints of them, and
// needs none.
#pragma once
#include <filesystem>
#include <optional>
#include <set>

#include "core/json.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

struct Journal;

struct KeptBest {
    std::optional<LapId> of_run;  // best/model.json
    Json test;                    // its "test": a job may be killed before the summary has the metrics
    Json errors;                  // best/validation.json of the same lap; null: there is none
    std::set<LapId> of_trials;    // best/trial-N/model.json
};

// Only states that the journal has: the state hash in the file is that of the end of the lap. Local.
KeptBest read_kept_best(std::filesystem::path const& run_dir, Journal const& journal);

// Whether model.safetensors in this folder has the size and hash that its model.json (about) records. True for a run of an
// earlier version, which recorded none. IoError if the weights cannot be read.
bool has_its_weights(std::filesystem::path const& folder, Json const& about);

}  // namespace hopscotch
