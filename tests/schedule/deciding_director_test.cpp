// SPDX-License-Identifier: Apache-2.0
// What a director does with each word of a search, one at a time.
#include <gtest/gtest.h>

#include <limits>

#include "core/error.hpp"
#include "schedule/simulated_job.hpp"

namespace hopscotch {
namespace {

using Kind = Verdict::Kind;

Verdict verdict(Kind kind, int until = 0, LapId source = {}) {
    Verdict out;
    out.kind = kind;
    out.until_epoch = until;
    out.source = source.trial;
    out.source_epoch = source.epoch;
    out.assignment = {{"model.cost", 7}};
    out.why = "because";
    return out;
}

// Says what it is told to, and remembers what it heard.
struct Script : Search {
    std::map<LapId, Verdict> verdicts;             // others: go on, which is the end at a decision point
    std::vector<std::pair<TrialId, int>> resumes;  // offered as soon as the trial is paused
    std::int64_t trials = 1, started = 0;
    int until = 1;
    bool may_clone = false, says_finished = false;
    std::string heard;
    std::set<TrialId> paused;

    std::optional<Proposal> next() override {
        for (auto at = resumes.begin(); at != resumes.end(); ++at) {
            if (!paused.contains(at->first)) continue;
            Proposal const out{Proposal::Kind::resume, at->first, {}, at->second};
            resumes.erase(at);
            paused.erase(out.trial);
            return out;
        }
        if (started == trials) return std::nullopt;
        return Proposal{Proposal::Kind::start, TrialId(started++), {{"model.cost", 1}}, until};
    }
    Verdict report(Report const& report) override {
        heard += fmt::format("{}:{}={} ", report.trial.value, report.epoch,
                             report.loss ? fmt::format("{}", *report.loss) : "none");
        auto const found = verdicts.find({report.trial, report.epoch});
        if (found == verdicts.end()) return {};
        if (found->second.kind == Kind::pause) paused.insert(report.trial);
        return found->second;
    }
    bool finished() const override { return says_finished && started == trials && resumes.empty(); }
    bool clones() const override { return may_clone; }
};

struct Stage {
    explicit Stage(Script script, int epochs = 9, DirectorOptions options = {}, std::string const& more = "") {
        auto made = std::make_unique<Script>(std::move(script));
        search = made.get();
        if (!options.unit_cost) options.unit_cost = [](Assignment const&) { return 1.0; };
        director = make_director(toy_experiment(epochs, more), std::move(made), options);
    }
    std::string released() {
        std::string out;
        for (auto const& lap : director->release())
            out += fmt::format("{}:{}{} ", lap.trial.value, lap.epoch,
                               lap.clone_of ? fmt::format("<{}:{}", lap.clone_of->trial.value, lap.clone_of->epoch) : "");
        return out;
    }
    void done(int trial, int epoch, double loss = 0.5, Outcome outcome = Outcome::finished) {
        LapRecord record;
        record.trial = TrialId(trial);
        record.epoch = epoch;
        record.outcome = outcome;
        record.reason = "so it was";
        record.valid_rows = 1;
        record.valid_loss = loss;
        director->record(record);
    }
    std::string decisions() {
        std::string out;
        for (auto const& each : director->take_decisions())
            out += fmt::format("{} {}:{} ", name_of(each.kind), each.trial.value, each.epoch);
        return out;
    }
    std::string free_states() {
        std::string out;
        for (auto const& each : director->take_releases()) out += fmt::format("{}:{} ", each.trial.value, each.epoch);
        return out;
    }
    TrialView const& trial(int id) const { return director->trials().at(static_cast<std::size_t>(id)); }
    TrialStatus status(int id) const { return trial(id).status; }

    Script* search = nullptr;
    std::unique_ptr<Director> director;
};

DirectorOptions options(int shards, std::int64_t in_flight, double lookahead) {
    DirectorOptions out;
    out.shards = shards;
    out.in_flight = in_flight;
    out.lookahead = lookahead;
    return out;
}

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

TEST(DecidingDirector, PausedTrialsAreResumedOrNeverPromoted) {
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

TEST(DecidingDirector, WhenTheSearchHasFinishedNobodyStaysPaused) {
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

TEST(DecidingDirector, AStopHasAReason) {
    Script script;
    script.verdicts[{TrialId(0), 0}] = verdict(Kind::stop);
    Stage stage(script);
    stage.done(0, 0);
    EXPECT_EQ(stage.status(0), TrialStatus::stopped);
    EXPECT_EQ(stage.trial(0).reason, "because");
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
    auto const director = make_director(experiment, std::move(made), {[](Assignment const&) { return 1.0; }});
    LapRecord record;
    record.trial = TrialId(0);
    record.valid_rows = 1;
    record.valid_loss = 3;
    director->record(record);
    EXPECT_EQ(search->heard, "0:0=-3 ");
}

// Trials of a population train on while their reports are on the way; a clone begins at the next boundary, from a state that
// is kept.
TEST(DecidingDirector, AClonesStateIsKeptUntilItHasTrained) {
    Script script;
    script.trials = 2;
    script.may_clone = true;
    script.verdicts[{TrialId(1), 0}] = verdict(Kind::clone, 3, {TrialId(0), 0});
    script.verdicts[{TrialId(0), 0}] = verdict(Kind::go_on, 3);
    Stage stage(script, 3, options(1, 2, 1));
    EXPECT_EQ(stage.released(), "0:0 1:0 0:1 1:1 ");
    stage.done(0, 0);
    stage.done(1, 0);
    EXPECT_EQ(stage.decisions(), "start 0:-1 start 1:-1 go_on 0:0 clone 1:0 ");
    EXPECT_EQ(stage.released(), "0:2 1:2<0:0 ");
    EXPECT_EQ(stage.trial(1).assignment, (Assignment{{"model.cost", 7}}));
    stage.done(0, 1);
    stage.done(1, 1);
    EXPECT_EQ(stage.free_states(), "1:0 ");  // trial 0 has gone on too, but trial 1 has yet to begin with that state
    stage.done(0, 2);
    stage.done(1, 2);
    EXPECT_EQ(stage.free_states(), "0:1 0:0 1:1 ");
    EXPECT_TRUE(stage.director->finished());
    EXPECT_EQ(stage.status(1), TrialStatus::finished);
}

TEST(DecidingDirector, AVerdictOnATrialThatTrainsOnTakesEffectAtTheEndOfItsLap) {
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

TEST(DecidingDirector, AStateThatIsNotKeptCannotBeCloned) {
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
TEST(DecidingDirector, EarlyStoppingFillsTheRestOfTheCurve) {
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

}  // namespace
}  // namespace hopscotch
