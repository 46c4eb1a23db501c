// SPDX-License-Identifier: Apache-2.0
// Sums over a run's lap records, lap by lap. Rank 0 keeps a few numbers for each trial and trainer instead of the records,
// which stay in the journal.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/histogram.hpp"
#include "core/ids.hpp"
#include "experiment/search_config.hpp"
#include "rundir/metrics.hpp"
#include "schedule/lap.hpp"
#include "schedule/pace.hpp"

namespace hopscotch {

struct Experiment;

// Busy seconds of a CPU or a GPU within the seconds of the units in which they were measured.
struct DeviceUse {
    double busy_s = 0, wall_s = 0;  // wall_s: 0: nothing was measured

    void add(DeviceUse const& more);
    bool is_known() const { return wall_s > 0; }
    double share() const;                                          // NaN: not known
    double of(double seconds) const { return share() * seconds; }  // busy seconds within this many seconds of such units
};

struct TrialTally {
    int epochs = 0;                   // finished laps
    std::optional<Metrics> best;      // the finished lap with the best finite metric; the earliest of equals
    std::optional<Metrics> last;      // of the last finished lap
    std::vector<float> curve;         // of the metric that compares trials, by epoch; NaN: none
    std::uint64_t state_hash = 0;     // at its end
    double train_s = 0, valid_s = 0;  // of all laps, unfinished ones included
    DeviceUse cpu, gpu;               // of the units among them that were measured
    double cpu_s() const { return cpu.of(train_s); }
    double gpu_s() const { return gpu.of(train_s); }
    bool failed = false;  // a lap failed, diverged, or had no finite metric
};

// How trials are compared.
struct ComparedBy {
    Objective objective = Objective::last;  // of groups; a single trial is as good as its best epoch, whose weights are kept
    int copies = 1;                         // trials of one configuration: a group
    bool race = false;                      // or fewer, if a race has left the configuration
};

// The trials of one configuration (search.repeats, search.folds): group g is the trials g * copies and the copies - 1 that
// follow. In a race the trials with the same configuration that have a lap. There copies count once they have ended, besides
// the first, and the mean of few copies is what that of all would be (search/race.hpp).
struct GroupTally {
    std::vector<TrialId> trials;
    std::vector<double> values;  // of each: of its best epoch, or of its last, as the objective says; NaN: none
    std::optional<double> mean;  // none: one has failed or has no value
    double spread = 0;           // standard deviation (n - 1)
};

// With groups, the best trial is known only at the end of the run: then the best state of every trial is kept.
bool keeps_every_best(Experiment const& experiment);

struct Percentiles {
    double p50 = 0, p99 = 0;
};
std::optional<Percentiles> percentiles(Histogram const& values);  // none of no values

class Tally {
public:
    Tally(std::string metric, Mode mode, int trainers, ComparedBy comparison = {});

    Metrics const& add(LapRecord const& record, LossKind loss);  // loss: of its trial; returns the lap's metrics

    // Needed in a race, at any time before groups(); repetitions change nothing.
    void tell_configuration(TrialId trial, Assignment const& assignment);
    void tell_end(TrialId trial) { ended_.insert(trial); }

    TrialTally const& of(TrialId trial) const;  // zeros for a trial that finished no lap
    // The lowest id of equals. In groups: of the group with the best mean the one with the best epoch; a group without a
    // mean comes after those that have one.
    std::optional<TrialId> best_trial() const;
    std::vector<GroupTally> groups() const;  // as far as a trial of them has a lap; none if there are no copies
    double makespan_s() const;               // last event's end - first unit's start, less pauses
    void pause(double from_unix_s, double until_unix_s) {
        pauses_.emplace_back(from_unix_s, until_unix_s);
    }  // no job worked on the run
    double busy_s() const;       // training and validation, summed over trainers
    double utilisation() const;  // busy_s / (trainers x makespan)
    // Of the machine, for any owners of the shards: max(the longest trial on the fastest trainer, all work over all speed).
    // Units of a lap that trainers train at the same time count once in their trial.
    double lower_bound_s() const;
    std::int64_t units() const { return units_; }
    std::int64_t hops() const { return hops_; }
    std::int64_t hop_bytes() const { return hop_bytes_; }
    std::vector<double> const& exposed_s() const { return exposed_s_; }  // by trainer; empty: not measured
    std::int64_t sync_rounds() const { return sync_rounds_; }
    std::vector<std::int64_t> const& staleness() const { return staleness_; }
    std::optional<Percentiles> unit_gap_s() const { return percentiles(gaps_s_); }
    std::string const& metric() const { return metric_; }
    Mode mode() const { return mode_; }

private:
    void add_times(LapRecord const& record);
    void add_exchange(LapRecord const& record);
    std::optional<TrialId> best_of(std::vector<TrialId> const& trials) const;
    GroupTally group(std::vector<TrialId> trials) const;
    std::vector<GroupTally> racing_groups() const;

    std::string metric_;
    Mode mode_;
    ComparedBy comparison_;
    std::map<TrialId, TrialTally> trials_;
    std::map<TrialId, Assignment> configurations_;  // in a race
    std::set<TrialId> ended_;
    std::map<TrialId, double> alone_s_;  // seconds that the trial's laps take if every trainer is free
    std::vector<double> busy_s_;         // by trainer
    Histogram gaps_s_;                   // UnitRecord::wait_s where the unit was queued
    std::vector<double> exposed_s_;
    std::vector<std::int64_t> staleness_;
    std::int64_t units_ = 0, hops_ = 0, hop_bytes_ = 0, sync_rounds_ = 0;
    double first_unix_s_ = 0, last_unix_s_ = 0;
    std::vector<std::pair<double, double>> pauses_;
    Pace pace_;
    Metrics latest_;
};

}  // namespace hopscotch
