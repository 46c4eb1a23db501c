// SPDX-License-Identifier: Apache-2.0
// The view of a run while it trains: the facts, and their picture in lines of text. Rank 0 collects the facts, draws them on
// its terminal, and writes them to live.json. From this file `ctl RUN_DIR status --follow` draws the same.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "view/progress.hpp"

namespace hopscotch {

struct TrainerNow {
    bool lost = false;
    double busy = 0;  // share of the last half minute in which it trained or validated
    int trial = -1;   // of the unit under way; -1: none
    int epoch = 0, shard = -1;
    std::string doing;  // "computing", "validating", ...
    double batches_per_s = 0;
};

struct Leader {
    TrialId trial;
    double value = 0;  // of its best epoch
    int epoch = 0;
    std::string config;         // short_config()
    std::vector<double> curve;  // of the metric, by epoch, at most k_curve_points; NaN: none
};

struct RunView {
    std::string name, label;          // label: "mop, 12 shards, 2 trainers"
    std::string status = "training";  // or a RunStatus
    double unix_s = 0;                // when the facts were collected
    ProgressState progress;
    std::int64_t in_flight = 0, waiting = 0, failed = 0;  // trials; failed: or diverged
    std::int64_t epochs = 0;                              // laps that ended, in all jobs
    double state_bytes_per_s = 0;                         // of hops in laps that ended in this job
    std::vector<TrainerNow> trainers;
    std::vector<Leader> leaders;        // best first, at most k_leaders
    std::vector<std::string> warnings;  // the last ones

    double busy() const;                // mean of the trainers that are not lost
    void end(std::string_view status);  // the run, or its job, has ended
};
inline constexpr std::size_t k_leaders = 5, k_curve_points = 24, k_view_warnings = 2;

// At most this many points: the first, the last, and others evenly.
std::vector<double> thinned_curve(std::vector<float> const& curve);

enum class Glyphs { ascii, blocks };  // blocks: bars of Unicode
Glyphs glyphs_of_locale();            // as LC_ALL, LC_CTYPE or LANG say

struct ViewSize {
    int columns = 80, rows = 24;
};

// At most rows lines of at most `columns` characters. If there is no room for a line for each trainer, a band has a cell for
// each. Small windows lose the warnings, then the trainers, then the leaders. PURE.
std::vector<std::string> view_lines(RunView const& view, ViewSize size, Glyphs glyphs);

Json to_json(RunView const& view);

// live.json of a run. None: there is no such file (the job has just begun, or an older version wrote the run). Throws
// DataError for a damaged file.
std::optional<RunView> read_run_view(std::filesystem::path const& run_dir);

}  // namespace hopscotch
