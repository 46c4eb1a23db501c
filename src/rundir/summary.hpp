// SPDX-License-Identifier: Apache-2.0
// summary.json: one document about the run and its results (docs/formats.md; a contract).
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "direct/trial_view.hpp"
#include "rundir/checkpoint.hpp"
#include "rundir/journal.hpp"
#include "rundir/tally.hpp"

namespace hopscotch {

inline constexpr int k_summary_format = 1;

enum class RunStatus { finished, interrupted, failed };
std::string_view name_of(RunStatus status);

struct ByteCounts {
    std::int64_t state = 0, gradient = 0, data = 0, control = 0;
};

struct TrialSummary {
    TrialId id;
    std::string status, reason;  // of a TrialView
    Assignment assignment;
    TrialTally tally;
    std::map<std::string, double> measures = {};  // sizes and costs that search.objectives or search.pareto names
};

// The values that search.objectives or search.pareto names, for the trials that no other trial dominates. Where there are
// copies: of the groups, by their means.
struct ParetoFront {
    std::vector<std::string> names;
    struct Point {
        TrialId trial;  // of a group the first
        std::vector<double> values;
        int epochs = 0;  // that it trained
    };
    std::vector<Point> points = {};    // by the first, best first
    std::optional<TrialId> knee = {};  // the compromise (search/front.hpp); none: there are fewer than three
    double hypervolume = 0;            // share of the box between the best and the worst values of all trials
    std::size_t compared = 0;          // trials, or groups
    bool steers = false;               // of search.objectives
    bool misses_bounds = false;        // no trial meets search.subject_to; these miss it by the least
};

// The change that one trial of `ablation` made, and its effect.
struct AblationRow {
    std::string key;
    Json value;
    TrialId trial;                     // the first of its group
    std::optional<double> difference;  // of the metric (the mean of its group): this one's - trial 0's; none: one has none
};

struct RunSetting {
    std::string version;  // of hopscotch
    std::string strategy;
    int trainers = 0, shards = 0;
    bool exact = true;                  // run.exact
    bool synthetic = false;             // the model only pretends to train: seconds are real, metrics are not
    std::vector<std::string> injected;  // run.inject
    std::string batch_norm;             // allreduce: "local" or "sync"
    std::string collectives;            // allreduce, model_averaging: "mpi" or "nccl"
};

// Of all jobs that have worked on the run.
struct RunHistory {
    int jobs = 1;  // more with --resume, and after the loss of a trainer
    std::vector<TrainerLoss> lost;
    std::vector<OwnersMoved> moved;
    std::int64_t retries = 0;  // search.retries that were made
};

struct TimeTotals {
    double wall_s = 0, setup_s = 0;  // the whole process; before the first lap was released
    double makespan_s = 0, lower_bound_s = 0, utilisation = 0;
    std::int64_t units = 0, hops = 0;
    std::optional<Percentiles> unit_gap_s;  // none: no unit was queued when the one before it ended
    std::optional<Percentiles> hop_s;       // none: not measured
};

struct RunBytes {
    ByteCounts sent;
    std::vector<ByteCounts> sent_by_rank;
    std::vector<std::int64_t> peak_rss;  // by rank
    std::int64_t storage = 0;            // training rows with their labels that trainers hold or own, all together
    std::int64_t staged = 0;             // copies among them
    std::int64_t spilled = 0;            // waiting states that went to the disk (run.state_memory)
    std::int64_t weights = 0;            // parameters of the largest trial
};

// Of strategies whose trainers wait for each other: sums of SyncFacts.
struct SyncTotals {
    std::vector<double> exposed_s;  // by trainer; empty: not measured
    std::int64_t rounds = 0;
    std::vector<std::int64_t> staleness;
};

struct RunResult {
    std::string metric;  // that chooses best_trial and every best{}
    Mode mode = Mode::max;
    Objective objective = Objective::last;
    std::optional<TrialId> best_trial;     // none: no lap finished with a finite metric
    std::optional<Metrics> test;           // best_trial at its best epoch, its val_ numbers and rows of the test shards
    std::optional<double> standard_error;  // of best_trial's metric, as the validation rows leave it; none: not known
};

struct Summary {
    RunStatus status = RunStatus::finished;
    std::string reason;  // interrupted, failed, finished before its time: why
    RunSetting setting;
    RunHistory history;
    TimeTotals times;
    RunBytes bytes;
    CheckpointFacts checkpoints;  // of this job
    SyncTotals sync;
    RunResult result;
    std::vector<TrialSummary> trials;   // by id
    std::vector<GroupTally> groups;     // where there are copies
    std::optional<ParetoFront> pareto;  // of search.objectives or search.pareto
    std::vector<AblationRow> ablation;  // of that procedure, without the trial that changes nothing
};

// Of a summary.json; epochs and `compared` of the points are not in it. None: it has no front.
std::optional<ParetoFront> pareto_from_json(Json const& summary);
bool has_gpu_use(Summary const& summary);  // the GPU's use is known of some trial
Json to_json(Summary const& summary);
std::optional<Metrics> test_from_json(Json const& test);  // RunResult::test; none of null
void write_summary(std::filesystem::path const& path, Summary const& summary);

// One row a trial, one column a searched path; RFC 4180 quoting.
std::string trials_csv(Summary const& summary);

}  // namespace hopscotch
