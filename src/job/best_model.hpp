// SPDX-License-Identifier: Apache-2.0
// Writes the result of a run: best/model.safetensors and best/model.json (docs/formats.md).
#pragma once
#include <filesystem>

#include "core/byte_view.hpp"

namespace hopscotch {

class Json;
struct LapId;
struct Metrics;
struct PreparedRun;
struct TrialView;

struct BestModel {
    TrialView const& trial;
    Metrics const& metrics;  // of its best epoch
    MutableBytes state;      // after it
    Metrics const* test;     // on the test rows; null: none
};
// folder: is there. Errors of an earlier best (validation.json) are removed before.
void write_best_model(PreparedRun const& prepared, std::filesystem::path const& folder, BestModel const& best);

// Writes validation.json beside it: ErrorAnalysis::document() of that lap.
void write_errors(std::filesystem::path const& folder, LapId const& lap, Json const& errors);

}  // namespace hopscotch
