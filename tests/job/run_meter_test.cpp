// SPDX-License-Identifier: Apache-2.0
// The work behind a run's progress and ETA.
#include "job/run_meter.hpp"

#include <gtest/gtest.h>

#include "experiment/config.hpp"

namespace hopscotch {
namespace run_meter_test {

constexpr int k_shards = 4;

// Two trials of three epochs; the first one has trained one.
std::vector<TrialView> two_trials() {
    std::vector<TrialView> out(2);
    for (std::size_t t = 0; t < out.size(); ++t) {
        out[t].id = TrialId(t);
        out[t].config = std::make_shared<TrialConfig>();
        out[t].status = TrialStatus::running;
        out[t].epochs_wanted = 3;
        out[t].unit_cost = 2;
    }
    out[0].epochs_done = 1;
    return out;
}

TEST(RunMeter, WhatAnEarlierJobTrainedInALapThatGoesOnIsNotOfThisOne) {
    RunMeter meter(k_shards);
    auto trials = two_trials();
    // The second trial goes on behind two of its four units.
    std::map<TrialId, double> const units{{TrialId(1), 2}};
    EXPECT_EQ(RunMeter::flops_of(trials, units), 2 * 2) << "FLOPs of two units";
    meter.begin(trials, units);
    auto const start = meter.work(trials, 2 * 2, 0);
    EXPECT_DOUBLE_EQ(start.total, 6 * k_shards * 2);
    EXPECT_DOUBLE_EQ(start.before, 6 * 2) << "a lap, and half of one";
    EXPECT_DOUBLE_EQ(start.done, start.before) << "this job has trained nothing yet";
    trials[1].epochs_done = 1;
    auto const later = meter.work(trials, 0, 0);
    EXPECT_DOUBLE_EQ(later.done - later.before, 2 * 2) << "the two units that this job trained";
}

// The times of trials are known from earlier laps. What the file of a slow trial holds is not counted at the mean time.
TEST(RunMeter, WhatAnEarlierJobTrainedCountsAtTheTimeOfItsTrial) {
    RunMeter meter(k_shards);
    auto trials = two_trials();
    trials[1].unit_cost = 3;
    for (std::size_t t = 0; t < trials.size(); ++t) {
        LapRecord lap;
        lap.trial = trials[t].id;
        lap.units.push_back({.shard = ShardId(0), .trainer = TrainerId(0), .rows = 10, .seconds = t == 0 ? 0.1 : 10});
        meter.learn(lap, trials[t]);
    }
    for (auto const trial : {TrialId(0), TrialId(1)}) {
        std::map<TrialId, double> const units{{trial, 2}};
        meter.begin(two_trials(), units);
        auto const work = meter.work(trials, RunMeter::flops_of(trials, units), 0);
        EXPECT_EQ(work.done, work.before) << "this job has trained nothing yet";
    }
}

// The trainers have trained all units, and the last laps have not ended.
TEST(RunMeter, ATrialThatHasNotEndedHasSomethingLeft) {
    RunMeter meter(k_shards);
    auto trials = two_trials();
    meter.begin(trials, {});
    auto const all = meter.work(trials, 5 * k_shards * 2, 0);
    EXPECT_LT(all.done, all.total);
    for (auto& trial : trials) trial.epochs_done = 3, trial.status = TrialStatus::finished;
    auto const end = meter.work(trials, 0, 0);
    EXPECT_EQ(end.done, end.total);
}

// The trainers take the largest trials first. A count of units would say that a tenth of the work is done.
TEST(RunMeter, UnitsOfLargeTrialsCountForMore) {
    RunMeter meter(k_shards);
    auto trials = two_trials();
    trials[0].epochs_done = 0;
    trials[1].unit_cost = 18;
    meter.begin(trials, {});
    auto const work = meter.work(trials, k_shards * 18, 0);
    EXPECT_DOUBLE_EQ(work.done / work.total, (k_shards * 18.0) / (3 * k_shards * (2 + 18))) << "one lap of the larger trial";
}

}  // namespace run_meter_test
}  // namespace hopscotch
