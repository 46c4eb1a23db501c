// SPDX-License-Identifier: Apache-2.0
// Trials whose results are known, from a run directory or a table: `hopscotch what-if` plays other searches on them.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "direct/trial_view.hpp"
#include "experiment/config.hpp"
#include "search/front.hpp"

namespace hopscotch {

struct RecordedRun;

struct KnownTrial {
    Assignment assignment;  // as the experiment has it: its entries stand for the row of a table
    std::string text;       // of its configuration, for people: "lr=0.1 hidden=[64]"
    std::vector<LapRecord> laps;
    double unit_cost = 1;                         // FLOPs; of a table seconds of an epoch, or 1
    std::map<std::string, double> measures = {};  // sizes and costs among the objectives of the run
    LossKind loss = {};
};

struct KnownTrials {
    std::string source;     // the path of the run or the table
    std::string metric;     // by which trials are compared, as the source names it
    Experiment experiment;  // that of the run; of a table one with its metric and its longest training
    std::vector<KnownTrial> trials;
    int shards = 1;
    bool is_table = false;

    // The value of a lap; NaN: it has none.
    double value_of(LapRecord const& record, KnownTrial const& trial) const;
    // By the objectives of the run; none: it has one, or a value is not known.
    std::optional<Point> point_of(LapRecord const& record, KnownTrial const& trial) const;
    bool is_better(double a, double b) const { return experiment.search.mode == Mode::max ? a > b : a < b; }
    std::int64_t epochs() const;  // of all trials together
};

// Throws ConfigError for a run without a finished lap, or with clones that a user ordered.
KnownTrials known_trials(RecordedRun const& run);

struct CurveColumns {
    std::string metric;  // empty: the one column whose name begins with "val_"
    std::string mode;    // "min", "max"; empty: as the metric's name says
};

// A CSV file with a row for each configuration and epoch: `epoch` from 0 or 1, the metric, perhaps `seconds` of the epoch
// and `trial`. Other columns tell configurations apart, if there is no column `trial`; columns of other metrics are ignored.
// Throws ConfigError or DataError with the line.
KnownTrials read_curves(std::filesystem::path const& file, CurveColumns const& columns);

}  // namespace hopscotch
