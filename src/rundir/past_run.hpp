// SPDX-License-Identifier: Apache-2.0
// The results of an earlier run, for search.start_from: read once from the old directory, written into the new one
// (start_from.json), and read from there by --resume, so the old directory may be deleted.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "experiment/search_config.hpp"
#include "search/past.hpp"

namespace hopscotch {

struct RecordedRun;

// The trials that have reported a lap, by id. Losses are of the metric and of the objectives of `search`, even if the run
// used others. Throws DataError if no lap has them.
std::vector<PastTrial> past_trials(RecordedRun const& run, SearchConfig const& search);

// start_from.json: [{"config": {...}, "losses": [0.3, null], "ended": true}]; null: the trial failed. With several
// objectives also "metrics": of each lap the losses of those that are metrics.
Json to_json(std::vector<PastTrial> const& past);
std::vector<PastTrial> read_past_trials(std::filesystem::path const& file);  // throws DataError

}  // namespace hopscotch
