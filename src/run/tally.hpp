// SPDX-License-Identifier: Apache-2.0
// What a run's lap records add up to, lap by lap, so that rank 0 keeps a few numbers per trial and trainer instead of the
// records (which stay in the journal).
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "experiment/config.hpp"
#include "run/metrics.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

struct TrialTally {
    int epochs = 0;                   // finished laps
    std::optional<Metrics> best;      // the finished lap with the best finite metric; the earliest of equals
    std::optional<Metrics> last;      // of the last finished lap
    std::uint64_t state_hash = 0;     // at its end
    double train_s = 0, valid_s = 0;  // of all laps, unfinished ones included
};

struct Percentiles {
    double p50 = 0, p99 = 0;
};
// The values at rank ceil(p n) in order; none of no values.
std::optional<Percentiles> percentiles(std::vector<float> values);

class Tally {
public:
    Tally(std::string metric, Mode mode, int trainers);

    Metrics const& add(LapRecord const& record, LossKind loss);  // loss: of its trial; returns the lap's metrics

    TrialTally const& of(TrialId trial) const;  // zeros for a trial that finished no lap
    std::optional<TrialId> best_trial() const;  // the lowest id of equals
    double makespan_s() const;                  // last event's end - first unit's start
    double busy_s() const;                      // training and validation, summed over trainers
    double utilisation() const;                 // busy_s / (trainers x makespan)
    double lower_bound_s() const;               // max(longest trial's seconds, most loaded trainer's); units of a lap that trainers
                                                // train at the same time count once
    std::int64_t units() const { return units_; }
    std::int64_t hops() const { return hops_; }
    std::vector<double> const& exposed_s() const { return exposed_s_; }  // by trainer; empty: not measured
    std::int64_t sync_rounds() const { return sync_rounds_; }
    std::vector<std::int64_t> const& staleness() const { return staleness_; }
    std::optional<Percentiles> unit_gap_s() const { return percentiles(gaps_s_); }
    std::string const& metric() const { return metric_; }
    Mode mode() const { return mode_; }

private:
    void add_times(LapRecord const& record);
    void add_exchange(LapRecord const& record);

    std::string metric_;
    Mode mode_;
    std::map<TrialId, TrialTally> trials_;
    std::map<TrialId, double> alone_s_;  // what the trial's laps take with everything free
    std::vector<double> busy_s_;  // by trainer
    std::vector<float> gaps_s_;   // UnitRecord::wait_s where the unit was queued
    std::vector<double> exposed_s_;
    std::vector<std::int64_t> staleness_;
    std::int64_t units_ = 0, hops_ = 0, sync_rounds_ = 0;
    double first_unix_s_ = 0, last_unix_s_ = 0;
    Metrics latest_;
};

}  // namespace hopscotch
