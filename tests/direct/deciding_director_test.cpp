// SPDX-License-Identifier: Apache-2.0
// When laps are released and reported, and what ends a trial.
#include <gtest/gtest.h>

#include <limits>

#include "core/error.hpp"
#include "direct/scripted_search.hpp"

namespace hopscotch {
namespace deciding_director_test {

// The example of deciding_director.hpp.
TEST(DecidingDirector, WorksAheadByTheLookahead) {
    Script script;
    script.trials = 20;
    Stage stage(script, 1, options(2, 2, 1));
    EXPECT_EQ(stage.released(), "0:0 1:0 2:0 3:0 ");  // two of virtual time 0, two of their places at 2
    stage.done(1, 0);
    stage.done(3, 0);
    EXPECT_EQ(stage.released(), "");  // at 4 the report of trial 0 is due
    EXPECT_EQ(stage.search->heard, "");
    stage.done(0, 0);
    EXPECT_EQ(stage.released(), "4:0 5:0 ");
    EXPECT_EQ(stage.search->heard, "0:0=0.5 1:0=0.5 ");
    EXPECT_EQ(stage.decisions(), "start 0:-1 start 1:-1 start 2:-1 start 3:-1 finish 0:0 finish 1:0 start 4:-1 start 5:-1 ");
    EXPECT_EQ(stage.status(3), TrialStatus::running);  // its record is there, but the clock waits for that of trial 2
    EXPECT_EQ(stage.trial(3).epochs_done, 1);
}

TEST(DecidingDirector, TwoTrialsAShardAreInFlightUnlessSaidOtherwise) {
    Script script;
    script.trials = 99;
    EXPECT_EQ(Stage(script, 1, options(3, 0, 0)).director->trials().size(), 6U);
    EXPECT_EQ(Stage(script, 1, options(3, 5, 0)).director->trials().size(), 5U);
}

TEST(DecidingDirector, LapsUpToTheDecisionAreReleasedAtOnceAndMoreAfterIt) {
    Script script;
    script.until = 3;
    script.verdicts[{TrialId(0), 2}] = verdict(Kind::go_on, 5);
    Stage stage(script);
    auto const first = stage.director->release();
    ASSERT_EQ(first.size(), 3U);
    EXPECT_EQ(first[0].remaining_cost, 3);
    EXPECT_EQ(first[2].remaining_cost, 1);
    EXPECT_EQ(stage.trial(0).epochs_wanted, 3);
    stage.done(0, 0);
    stage.done(0, 1);
    EXPECT_EQ(stage.released(), "");
    stage.done(0, 2);
    auto const second = stage.director->release();
    ASSERT_EQ(second.size(), 2U);
    EXPECT_GT(second[0].release, first[0].release);
    EXPECT_EQ(stage.trial(0).epochs_wanted, 5);
    stage.done(0, 3);
    stage.done(0, 4);
    EXPECT_EQ(stage.status(0), TrialStatus::finished);
    EXPECT_TRUE(stage.director->finished());
    EXPECT_EQ(stage.search->heard, "0:0=0.5 0:1=0.5 0:2=0.5 0:3=0.5 0:4=0.5 ");
}

TEST(DecidingDirector, WhatEndsATrialReachesTheSearchAtTheLapsTime) {
    for (auto const& [outcome, status] : {std::pair{Outcome::diverged, TrialStatus::diverged},
                                          {Outcome::failed, TrialStatus::failed},
                                          {Outcome::stopped, TrialStatus::stopped}}) {
        Script script;
        script.until = 3;
        script.trials = 4;
        Stage stage(script, 3, options(1, 2, 1));
        EXPECT_EQ(stage.released(), "0:0 0:1 0:2 1:0 1:1 1:2 ");
        stage.done(0, 0);
        stage.done(0, 1, 0.5, outcome);
        EXPECT_EQ(stage.status(0), status);  // a fact ...
        EXPECT_EQ(stage.trial(0).reason, "so it was");
        EXPECT_EQ(stage.search->heard, "0:0=0.5 ");  // ... that the search cannot know yet
        stage.done(0, 2);                            // dropped
        for (int epoch : {0, 1, 2}) stage.done(1, epoch);
        EXPECT_EQ(stage.search->heard, "0:0=0.5 1:0=0.5 0:1=none 1:1=0.5 1:2=0.5 ");
        EXPECT_EQ(stage.trial(0).epochs_done, 1);
        EXPECT_EQ(stage.director->trials().size(), 4U);  // and there is room for the others
    }
}

TEST(DecidingDirector, NoNumberEndsATrial) {
    Script script;
    script.until = 2;
    Stage stage(script);
    stage.done(0, 0, std::numeric_limits<double>::quiet_NaN());
    EXPECT_EQ(stage.search->heard, "0:0=none ");
    EXPECT_EQ(stage.status(0), TrialStatus::diverged);
    EXPECT_EQ(stage.trial(0).reason, "val_loss is not a finite number");
    EXPECT_TRUE(stage.director->finished());
}

TEST(DecidingDirector, WhatIsToBeLargeIsNegated) {
    auto experiment = toy_experiment(1);
    experiment.search.mode = Mode::max;
    auto made = std::make_unique<Script>();
    auto const* search = made.get();
    auto const director = make_director(experiment, std::move(made), {[](TrialView const&) { return 1.0; }});
    LapRecord record;
    record.trial = TrialId(0);
    record.valid.rows = 1;
    record.valid.loss = 3;
    director->record(record);
    EXPECT_EQ(search->heard, "0:0=-3 ");
}

TEST(DecidingDirector, ByArrivalAReportIsHeardAtOnce) {
    Script script;
    script.trials = 4;
    script.until = 2;
    script.verdicts[{TrialId(1), 1}] = verdict(Kind::go_on, 3);
    auto by_arrival = options(1, 2, 1);
    by_arrival.decide_by = DecideBy::arrival;
    Stage stage(script, 3, by_arrival);
    EXPECT_EQ(stage.released(), "0:0 0:1 1:0 1:1 ");
    stage.done(1, 0, 0.25);
    stage.done(1, 1, 0.25);
    EXPECT_EQ(stage.search->heard, "1:0=0.25 1:1=0.25 ");
    EXPECT_EQ(stage.released(), "1:2 ");
    stage.done(0, 0);
    stage.done(0, 1);
    EXPECT_EQ(stage.released(), "2:0 2:1 ");
}

TEST(DecidingDirector, InterruptEndsWhatHasNotEnded) {
    Script script;
    script.trials = 3;
    script.verdicts[{TrialId(0), 0}] = verdict(Kind::pause);
    Stage stage(script, 1, options(1, 1, 0));
    stage.done(0, 0);
    stage.done(1, 0);
    stage.director->interrupt();
    EXPECT_EQ(stage.released(), "");
    EXPECT_EQ(stage.status(0), TrialStatus::interrupted);
    EXPECT_EQ(stage.status(1), TrialStatus::finished);
    EXPECT_EQ(stage.status(2), TrialStatus::interrupted);
    EXPECT_TRUE(stage.director->finished());
    stage.done(2, 0);  // too late
    EXPECT_EQ(stage.trial(2).epochs_done, 0);
}

TEST(DecidingDirector, RefusesWhatCannotBe) {
    Script script;
    script.until = 3;
    Stage stage(script);
    EXPECT_THROW(stage.done(0, 1), Error);  // before lap 0
    EXPECT_THROW(stage.done(5, 0), Error);
    stage.done(0, 0);
    stage.done(0, 0);  // a second attempt's copy
    EXPECT_EQ(stage.trial(0).epochs_done, 1);
    script.started = 1;  // begins with trial 1
    script.trials = 2;
    EXPECT_THROW(Stage{script}, Error);
    script = {};
    script.until = 0;
    EXPECT_THROW(Stage{script}, Error);
    script = {};
    script.verdicts[{TrialId(0), 0}] = verdict(Kind::pause);
    script.resumes = {{TrialId(0), 1}};  // up to where it is
    Stage paused(script, 9, options(1, 1, 0));
    EXPECT_THROW(paused.done(0, 0), Error);
}

}  // namespace deciding_director_test
}  // namespace hopscotch
