// SPDX-License-Identifier: Apache-2.0
// Writes the result of a run: best/model.safetensors and best/model.json (docs/formats.md).
#pragma once
#include <filesystem>
#include <optional>

#include "core/byte_view.hpp"
#include "core/json.hpp"
#include "run/metrics.hpp"

namespace hopscotch {

struct PreparedRun;
struct TrialView;

struct BestModel {
    TrialView const& trial;
    Metrics const& metrics;  // of its best epoch
    MutableBytes state;      // after it
    Metrics const* test;     // on the test rows; null: none
};
// The best trial at the end of a job.
struct BestScores {
    std::optional<Metrics> test;  // none: the dataset has no test shards, or scoring failed
    Json errors;                  // ErrorAnalysis::document() of the validation rows; null: not known
};

// folder: is there.
void write_best_model(PreparedRun const& prepared, std::filesystem::path const& folder, BestModel const& best);

// Writes validation.json beside it: ErrorAnalysis::document() of that lap. null: removes a file of an earlier best.
void write_errors(std::filesystem::path const& folder, LapId const& lap, Json const& errors);

}  // namespace hopscotch
