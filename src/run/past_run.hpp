// SPDX-License-Identifier: Apache-2.0
// The results of an earlier run. For search.start_from: read once from the old directory, written into the new one
// (start_from.json), and read from there by --resume, so the old directory may be deleted. For plans: the cost of its laps.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "experiment/config.hpp"
#include "run/run_directory.hpp"
#include "search/past.hpp"

namespace hopscotch {

struct PastRun {
    std::vector<PastTrial> trials;  // that have reported a lap, by id
    std::string dataset_hash;       // that it was trained on
};

// From experiment.json and journal.jsonl. The run may have finished, been interrupted, crashed, or still work. Losses are of
// `metric`, even if that run used another. Throws DataError if this is no run of this version, or no lap has the metric.
PastRun read_past_run(std::filesystem::path const& directory, std::string const& metric, Mode mode);

struct PastCost {
    Assignment assignment;
    std::int64_t units = 0;  // of the laps that have finished
    double seconds = 0;      // of a trainer, in these units and in the validations after them
};
struct PastCosts {
    RunFacts facts;
    Experiment experiment;
    std::map<TrialId, PastCost> trials;  // that have finished a lap
};
PastCosts read_past_costs(std::filesystem::path const& directory);  // throws DataError as read_past_run

// start_from.json: [{"config": {...}, "losses": [0.3, null], "ended": true}]; null: the trial failed.
Json to_json(std::vector<PastTrial> const& past);
std::vector<PastTrial> read_past_trials(std::filesystem::path const& file);  // throws DataError

}  // namespace hopscotch
