// SPDX-License-Identifier: Apache-2.0
// The work of a job for its progress and its ETA, in seconds of a trainer: units at the time that trials of their kind have
// taken so far (schedule/unit_times.hpp). If trials differ tenfold, a count of units would mislead.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "direct/trial_view.hpp"
#include "schedule/unit_times.hpp"

namespace hopscotch {

class RunMeter {
public:
    explicit RunMeter(int shards) : shards_(shards) {}

    // The first laps of an attempt are about to be released. True in the job's first attempt.
    bool start(double now_s);
    std::optional<double> started_s() const { return started_s_; }  // monotonic; none: no attempt has begun

    // The present progress of the trials comes from earlier jobs: laps, and the units of a lap that goes on.
    void begin(std::vector<TrialView> const& trials, std::map<TrialId, double> const& units);
    // FLOPs of this many units of each trial.
    static double flops_of(std::vector<TrialView> const& trials, std::map<TrialId, double> const& units);
    void learn(LapRecord const& record, TrialView const& trial);

    struct Work {
        double done = 0, total = 0, before = 0;  // before: done by earlier jobs
    };
    // flops_ahead: of units trained in laps that have not ended. FLOPs, not a count: the largest trials of a lap are trained
    // first. planned_epochs: of all trials, if the search may still start some.
    Work work(std::vector<TrialView> const& trials, double flops_ahead, double planned_epochs);

private:
    double unit_s(TrialView const& trial);

    std::optional<double> started_s_;
    int shards_;
    UnitTimes times_;
    std::size_t laps_ = 0;  // learnt from
    std::map<TrialId, UnitKind> kinds_;
    std::map<TrialId, double> before_;  // epochs
};

}  // namespace hopscotch
