// SPDX-License-Identifier: Apache-2.0
// What a director does with each verdict of a search.
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "direct/scripted_search.hpp"

namespace hopscotch {
namespace verdicts_test {

TEST(Verdicts, PausedTrialsAreResumedOrNeverPromoted) {
    Script script;
    script.trials = 2;
    for (int t : {0, 1}) script.verdicts[{TrialId(t), 0}] = verdict(Kind::pause);
    script.resumes = {{TrialId(1), 2}};
    Stage stage(script, 9, options(1, 2, 0));
    EXPECT_EQ(stage.released(), "0:0 1:0 ");
    stage.done(0, 0);
    EXPECT_EQ(stage.status(0), TrialStatus::paused);
    stage.done(1, 0);
    EXPECT_EQ(stage.released(), "1:1 ");
    EXPECT_EQ(stage.status(1), TrialStatus::running);
    stage.done(1, 1);
    EXPECT_EQ(stage.decisions(), "start 0:-1 start 1:-1 pause 0:0 pause 1:0 resume 1:0 finish 1:1 stop 0:0 ");
    EXPECT_EQ(stage.status(0), TrialStatus::stopped);
    EXPECT_EQ(stage.trial(0).reason, "never promoted");
    EXPECT_TRUE(stage.director->finished());
}

TEST(Verdicts, WhenTheSearchHasFinishedNobodyStaysPaused) {
    Script script;
    script.trials = 2;
    script.says_finished = true;
    script.verdicts[{TrialId(0), 0}] = verdict(Kind::pause);
    script.verdicts[{TrialId(1), 0}] = verdict(Kind::go_on, 2);
    Stage stage(script, 9, options(1, 2, 0));
    stage.done(0, 0);
    EXPECT_EQ(stage.status(0), TrialStatus::stopped);
    stage.done(1, 0);
    EXPECT_FALSE(stage.director->finished());
}

TEST(Verdicts, PausedTrialsCanBeEndedAtOnce) {
    Script script;
    script.trials = 3;
    script.until = 2;
    for (int t : {0, 1}) script.verdicts[{TrialId(t), 1}] = verdict(Kind::pause);
    script.ends[{TrialId(2), 1}] = {{TrialId(0), "another one has failed"}};
    Stage stage(script, 9, options(1, 3, 0));
    for (LapId const lap : {LapId{TrialId(0), 0}, {TrialId(1), 0}, {TrialId(2), 0}, {TrialId(0), 1}, {TrialId(1), 1}})
        stage.done(lap.trial.value, lap.epoch);
    EXPECT_EQ(stage.status(0), TrialStatus::paused);
    stage.done(2, 1);
    EXPECT_EQ(stage.status(0), TrialStatus::stopped);
    EXPECT_EQ(stage.trial(0).reason, "another one has failed");
    EXPECT_EQ(stage.trial(1).reason, "never promoted");
    EXPECT_EQ(stage.decisions(), "start 0:-1 start 1:-1 start 2:-1 pause 0:1 pause 1:1 finish 2:1 stop 0:1 stop 1:1 ");
    Script wrong;
    wrong.until = 2;
    wrong.ends[{TrialId(0), 0}] = {{TrialId(0), "it trains"}};
    Stage other(wrong, 9, options(1, 1, 0));
    EXPECT_THROW(other.done(0, 0), Error);
}

TEST(Verdicts, AStopHasAReason) {
    Script script;
    script.verdicts[{TrialId(0), 0}] = verdict(Kind::stop);
    Stage stage(script);
    stage.done(0, 0);
    EXPECT_EQ(stage.status(0), TrialStatus::stopped);
    EXPECT_EQ(stage.trial(0).reason, "because");
}

// Of two trials, the second becomes a clone of the first after its first lap, with another loss.
Script script_with_a_clone() {
    Script out;
    out.trials = 2;
    out.may_clone = true;
    out.verdicts[{TrialId(1), 0}] = verdict(Kind::clone, 3, {TrialId(0), 0});
    out.verdicts[{TrialId(1), 0}].assignment.emplace_back("train.loss", "huber");
    out.verdicts[{TrialId(0), 0}] = verdict(Kind::go_on, 3);
    return out;
}

// Trials of a population train on while their reports are on the way; a clone begins at the next boundary, from a state that
// is kept.
TEST(Verdicts, AClonesStateIsKeptUntilItHasTrained) {
    Stage stage(script_with_a_clone(), 3, options(1, 2, 1));
    EXPECT_EQ(stage.released(), "0:0 1:0 0:1 1:1 ");
    EXPECT_EQ(stage.trial(1).config->train.loss, LossKind::cross_entropy);
    stage.done(0, 0);
    stage.done(1, 0);
    EXPECT_EQ(stage.decisions(), "start 0:-1 start 1:-1 go_on 0:0 clone 1:0 ");
    EXPECT_EQ(stage.released(), "0:2 1:2<0:0 ");
    EXPECT_EQ(stage.trial(1).assignment, (Assignment{{"model.cost", 7}, {"train.loss", "huber"}}));
    EXPECT_EQ(stage.trial(1).config->train.loss, LossKind::huber);
    stage.done(0, 1);
    stage.done(1, 1);
    EXPECT_EQ(stage.free_states(), "1:0 ");  // trial 0 has gone on too, but trial 1 has yet to begin with that state
    stage.done(0, 2);
    stage.done(1, 2);
    EXPECT_EQ(stage.free_states(), "0:1 0:0 1:1 ");
    EXPECT_TRUE(stage.director->finished());
    EXPECT_EQ(stage.status(1), TrialStatus::finished);
}

// On the clock the trial has become a clone, but the lap before, still under way then, fails: its values never changed.
TEST(Verdicts, ATrialThatFailsBeforeItIsACloneKeepsItsValues) {
    Stage stage(script_with_a_clone(), 3, options(1, 2, 1));
    auto const before = (stage.released(), stage.trial(1).assignment);
    stage.done(0, 0);
    stage.done(1, 0);
    EXPECT_EQ(stage.trial(1).config->train.loss, LossKind::huber);
    stage.done(1, 1, 0.5, Outcome::failed);
    EXPECT_EQ(stage.trial(1).assignment, before);
    EXPECT_EQ(stage.trial(1).config->train.loss, LossKind::cross_entropy);
}

TEST(Verdicts, AVerdictOnATrialThatTrainsOnTakesEffectAtTheEndOfItsLap) {
    Script script;
    script.may_clone = true;
    script.trials = 2;
    script.verdicts[{TrialId(0), 0}] = verdict(Kind::stop);
    script.verdicts[{TrialId(1), 0}] = verdict(Kind::go_on, 4);
    Stage stage(script, 4, options(2, 2, 0.5));
    EXPECT_EQ(stage.released(), "0:0 1:0 0:1 1:1 ");
    stage.done(0, 0);
    stage.done(1, 0);
    EXPECT_EQ(stage.released(), "1:2 ");
    EXPECT_EQ(stage.status(0), TrialStatus::running);  // its lap 1 is under way
    stage.done(0, 1);
    stage.done(1, 1);
    EXPECT_EQ(stage.status(0), TrialStatus::stopped);
    EXPECT_EQ(stage.search->heard, "0:0=0.5 1:0=0.5 1:1=0.5 ");  // the search has done with trial 0
}

TEST(Verdicts, AStateThatIsNotKeptCannotBeCloned) {
    for (LapId const source : {LapId{TrialId(0), 0}, LapId{TrialId(0), 2}, LapId{TrialId(5), 0}}) {
        Script script;
        script.may_clone = true;
        script.until = 2;
        script.verdicts[{TrialId(0), 1}] = verdict(Kind::clone, 4, source);
        Stage stage(script, 4, options(1, 1, 0));
        stage.done(0, 0);
        EXPECT_THROW(stage.done(0, 1), Error);
    }
}

// To the search, a trial that has stopped by itself goes on as it ended.
TEST(Verdicts, EarlyStoppingFillsTheRestOfTheCurve) {
    Script script;
    script.until = 5;
    script.trials = 2;
    script.verdicts[{TrialId(0), 4}] = verdict(Kind::pause);
    script.resumes = {{TrialId(0), 7}};
    Stage stage(script, 9, options(1, 1, 0), R"(, "early_stopping": {"patience": 2})");
    EXPECT_EQ(stage.released(), "0:0 0:1 ");  // no more can be wanted for certain
    stage.done(0, 0, 0.25);
    EXPECT_EQ(stage.released(), "0:2 ");
    stage.done(0, 1, 0.5);
    EXPECT_EQ(stage.released(), "");
    stage.done(0, 2, 0.75);
    EXPECT_EQ(stage.search->heard, "0:0=0.25 0:1=0.5 0:2=0.75 0:3=0.75 0:4=0.75 0:5=0.75 0:6=0.75 ");
    EXPECT_EQ(stage.status(0), TrialStatus::stopped);
    EXPECT_EQ(stage.trial(0).reason, "no better val_loss for 2 epochs (best 0.25 in epoch 0)");
    EXPECT_EQ(stage.released(), "1:0 1:1 ");
    Script last;
    last.until = 2;
    Stage at_the_end(last, 2, options(1, 1, 0), R"(, "early_stopping": {"patience": 1})");
    at_the_end.done(0, 0, 0.25);
    at_the_end.done(0, 1, 0.5);
    EXPECT_EQ(at_the_end.status(0), TrialStatus::finished);  // it would have ended anyway
    Script clones;
    clones.may_clone = true;
    EXPECT_THROW(Stage(clones, 9, {}, R"(, "early_stopping": {"patience": 2})"), ConfigError);
}

}  // namespace verdicts_test
}  // namespace hopscotch
