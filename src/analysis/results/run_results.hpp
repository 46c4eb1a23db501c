// SPDX-License-Identifier: Apache-2.0
// The results of a run: read once (read_results), then used read-only by the report and by exports. Times are seconds of
// work on the run: from its start, without the time between jobs.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/results/found_errors.hpp"
#include "rundir/metrics.hpp"
#include "rundir/recorded_run.hpp"
#include "rundir/tally.hpp"

namespace hopscotch {

struct LapPoint {
    int epoch = 0;
    double value = 0;  // of search.metric; NaN: none
    double end_s = 0;
    Metrics metrics = {};
};

struct TrialSizes {
    std::int64_t state_bytes = 0;
    std::int64_t rows = 0;                        // of an epoch
    std::map<std::string, double> measures = {};  // TrialSummary::measures; none before the end of a job
};

struct TrialResults {
    TrialId id;
    std::string status, reason;  // status: a name of TrialStatus
    Assignment assignment;
    std::vector<LapPoint> curve;  // by epoch
    std::optional<LapPoint> best;
    int epochs = 0;
    double train_s = 0, valid_s = 0, end_s = 0;
    DeviceUse cpu, gpu;
    TrialSizes sizes;
};

// A configuration: a trial, or its repeats and folds together.
struct GroupResults {
    std::vector<std::size_t> trials;  // indices of RunResults::trials
    Assignment assignment;            // without the entries of copies
    double value = 0;                 // of its best epoch, or the mean of the copies; NaN: none
    double spread = 0;
    int epochs = 0;
};

// A unit or a validation, on a trainer; or the time before a unit in which the unit was ready.
struct TimePiece {
    enum class Kind { train, validate, wait } kind = Kind::train;
    int trainer = 0, trial = 0, epoch = 0, shard = 0;
    double start_s = 0, end_s = 0;
};

// One trainer's time from the first unit of the run to the last event.
struct TrainerTimes {
    double train_s = 0, validate_s = 0;
    double switch_s = 0;               // between two units while the next one was queued
    double first_s = -1, last_s = -1;  // its first unit begins, its last event ends; -1: it trained nothing
    double exposed_s = 0;              // in units of others: waiting for other trainers
};

// A part of a trainer's time: shares of training, of validation, and of units that were ready.
struct TimeCell {
    float train = 0, validate = 0, wait = 0;
};

struct RunTimes {
    double begin_s = 0, end_s = 0;  // the first unit begins, the last event ends
    std::vector<TrainerTimes> trainers;
    std::vector<TimePiece> activities;         // empty: there are too many; then cells
    std::vector<std::vector<TimeCell>> cells;  // of the first trainers
    std::vector<TimePiece> best_path;          // of the best trial, in order
    std::string problem;                       // the reason why units are missing; empty: none is
};

// Sums over all laps.
struct RunTotals {
    double makespan_s = 0, lower_bound_s = 0, utilisation = 0, work_s = 0;
    std::int64_t laps = 0, units = 0, hops = 0, hop_bytes = 0;
    std::optional<Percentiles> unit_gap_s;
};

// The progress of the run while a job works on it.
struct RunNow {
    double read_unix_s = 0;           // when the files were read
    std::string progress;             // "46 %, ETA 36s, ..."; empty: no job works on the run
    std::int64_t planned_trials = 0;  // 0: not known
    double renewed_every_s = 0;       // a job renews the report this often; 0: no job does
};

struct RunResults {
    RecordedRun run;
    Json summary;       // without its trials; null: no job has ended the run
    std::string label;  // the strategy and its settings
    std::optional<FoundErrors> errors;
    std::string metric;
    Mode mode = Mode::max;
    std::vector<std::string> others;   // other metrics that some lap has, in the order of the files
    std::vector<TrialResults> trials;  // by id
    std::vector<GroupResults> groups;  // by first trial
    std::vector<std::size_t> ranking;  // of groups with a value, best first
    std::optional<std::size_t> best;   // of trials: whose model is the best
    RunTimes times;
    RunTotals totals;
    RunNow now;

    bool has_copies() const { return run.experiment.search.copies.count() > 1; }
    // Of `metric` at the best epoch, as the validation rows leave it; none: not known.
    std::optional<double> standard_error() const;
    TrialResults const* best_trial() const { return best ? &trials[*best] : nullptr; }
};

// The metric that compares the trials: default: that of the search.
struct ComparedMetric {
    std::string name;
    std::optional<Mode>
        mode;  // default: the metric's own; of a metric of the user's own that was not searched there is none
};

// Throws ConfigError if dir holds no run, or no such metric; DataError for a damaged file.
RunResults read_results(std::string const& dir, ComparedMetric const& metric = {});

}  // namespace hopscotch
