// SPDX-License-Identifier: Apache-2.0
// Orders: what users and the clock on the wall have to say, under every procedure.
#include <gtest/gtest.h>

#include "direct/every_procedure.hpp"
#include "direct/scripted_search.hpp"
#include "direct/simulated_job.hpp"

namespace hopscotch {
namespace orders_test {

Order stop(int trial) { return {Order::Kind::stop, TrialId(trial), -1, {}, "stopped by a user"}; }
Order resume(int trial) { return {Order::Kind::resume, TrialId(trial), -1, {}, "a user takes it up"}; }
Order clone(int trial, int epoch) {
    return {Order::Kind::clone, TrialId(trial), epoch, {{"model.cost", 2}}, "a user's clone"};
}
Order finish() { return {Order::Kind::finish, {}, -1, {}, "a user finishes it"}; }

TEST(Orders, AStoppedTrialEndsWhenItsLapIsHeardOf) {
    Script script;
    script.trials = 2;
    script.until = 4;
    Stage stage(script, 9, options(1, 2, 1));
    EXPECT_EQ(stage.released(), "0:0 0:1 0:2 0:3 1:0 1:1 1:2 1:3 ");
    stage.done(1, 0);
    stage.ordered(1, 1, stop(0));
    EXPECT_EQ(stage.status(0), TrialStatus::running);  // the clock waits for lap 0 of trial 0
    stage.done(0, 0);
    EXPECT_EQ(stage.status(0), TrialStatus::running);
    stage.done(0, 1);
    EXPECT_EQ(stage.status(0), TrialStatus::stopped);
    EXPECT_EQ(stage.trial(0).reason, "stopped by a user");
    EXPECT_EQ(stage.search->heard, "0:0=0.5 1:0=0.5 0:1=0.5 1:1=0.5 0:2=none ");
    stage.done(0, 2);  // was under way
    stage.done(1, 2);
    stage.done(1, 3);
    EXPECT_EQ(stage.status(1), TrialStatus::finished);
    EXPECT_TRUE(stage.director->finished());
    EXPECT_EQ(stage.trial(0).epochs_done, 2);
}

TEST(Orders, ASearchHearsThatAPausedTrialWasStoppedWhenItWouldTakeItUp) {
    Script script;
    script.trials = 3;
    script.verdicts[{TrialId(0), 0}] = verdict(Kind::pause);
    script.resumes = {{TrialId(0), 3}};
    script.trials = 2;
    Stage stage(script, 9, options(1, 1, 0));
    EXPECT_EQ(stage.released(), "0:0 ");
    stage.ordered(0, 0, stop(0));
    EXPECT_EQ(stage.status(0), TrialStatus::stopped);
    EXPECT_EQ(stage.search->heard, "0:0=0.5 0:1=none ");
    EXPECT_EQ(stage.released(), "1:0 ");
    stage.done(1, 0);
    EXPECT_TRUE(stage.director->finished());
}

TEST(Orders, AResumedTrialIsItsUsersToTheEndOfItsEpochs) {
    Script script;
    script.verdicts[{TrialId(0), 0}] = verdict(Kind::stop);
    script.trials = 2;
    Stage stage(script, 3, options(1, 1, 0));
    stage.done(0, 0);
    EXPECT_EQ(stage.status(0), TrialStatus::stopped);
    stage.ordered(1, 0, resume(0));
    EXPECT_EQ(stage.status(0), TrialStatus::running);
    EXPECT_EQ(stage.trial(0).reason, "");
    EXPECT_EQ(stage.released(), "1:0 0:1 0:2 ");
    stage.done(0, 1);
    stage.done(0, 2);
    EXPECT_EQ(stage.status(0), TrialStatus::finished);
    EXPECT_EQ(stage.search->heard, "0:0=0.5 1:0=0.5 ");
    EXPECT_TRUE(stage.director->finished());
}

TEST(Orders, ATrialWhoseLapWasLeftGoesOnWithThatLap) {
    Script script;
    script.until = 4;
    script.trials = 2;
    Stage stage(script, 4, options(1, 2, 0));
    EXPECT_EQ(stage.released(), "0:0 0:1 0:2 0:3 1:0 1:1 1:2 1:3 ");
    stage.done(0, 0);
    stage.done(1, 0);
    stage.done(0, 1, 0, Outcome::stopped);
    stage.ordered(1, 1, resume(0));
    EXPECT_EQ(stage.status(0), TrialStatus::running);
    EXPECT_EQ(stage.released(), "0:1 0:2 0:3 ");
    for (int epoch : {1, 2, 3}) stage.done(0, epoch);
    EXPECT_EQ(stage.trial(0).epochs_done, 4);
    EXPECT_EQ(stage.search->heard, "0:0=0.5 1:0=0.5 0:1=none 1:1=0.5 ");
}

TEST(Orders, AWishToResumeWaitsForTheEndOnTheClock) {
    Script script;
    script.until = 4;
    script.trials = 2;
    Stage stage(script, 4, options(1, 2, 3));
    stage.done(0, 0);
    stage.done(0, 1);
    stage.done(0, 2, 0, Outcome::stopped);
    EXPECT_EQ(stage.status(0), TrialStatus::stopped);
    stage.ordered(1, 0, resume(0));  // which is heard of before the end of trial 0
    EXPECT_EQ(stage.status(0), TrialStatus::stopped);
    stage.done(1, 1);
    EXPECT_EQ(stage.status(0), TrialStatus::running);
}

TEST(Orders, WhatFailedIsNotTakenUp) {
    for (auto const outcome : {Outcome::failed, Outcome::diverged}) {
        Script script;
        script.until = 2;
        script.trials = 2;
        Stage stage(script, 2, options(1, 2, 0));
        stage.done(0, 0, 0, outcome);
        stage.ordered(1, 0, resume(0));
        stage.done(1, 1);
        EXPECT_NE(stage.status(0), TrialStatus::running);
        EXPECT_TRUE(stage.director->finished());
    }
}

TEST(Orders, AClonesNumberIsNotTheSearchs) {
    Script script;
    script.trials = 2;
    script.until = 2;
    Stage stage(script, 4, options(1, 1, 0));
    stage.ordered(0, 0, clone(0, 0));
    EXPECT_EQ(stage.released(), "0:0 0:1 1:1<0:0 1:2 1:3 ");
    EXPECT_EQ(stage.trial(1).assignment, (Assignment{{"model.cost", 2}}));
    EXPECT_EQ(stage.trial(1).epochs_done, 1);
    stage.done(0, 1);
    for (int epoch : {1, 2, 3}) stage.done(1, epoch);
    EXPECT_EQ(stage.status(1), TrialStatus::finished);
    EXPECT_EQ(stage.released(), "2:0 2:1 ");
    stage.done(2, 0);
    stage.done(2, 1);
    EXPECT_EQ(stage.search->heard, "0:0=0.5 0:1=0.5 1:0=0.5 1:1=0.5 ");
    EXPECT_EQ(stage.decisions(), "start 0:-1 clone 1:0 finish 0:1 finish 1:3 start 2:-1 finish 2:1 ");
}

// Trial 0 is stopped, and taken up when its lap has been left; the clock delivers the lap of the second order first.
TEST(Orders, AreObeyedAsTheyWereGiven) {
    Script script;
    script.until = 4;
    script.trials = 3;
    Stage stage(script, 4, options(1, 3, 0));
    stage.done(1, 0);
    stage.done(1, 1);
    stage.ordered(1, 2, stop(0));
    stage.done(0, 0, 0, Outcome::stopped);
    stage.ordered(2, 0, resume(0));
    EXPECT_EQ(stage.status(0), TrialStatus::stopped) << "the stop has not been heard of";
    stage.done(2, 1);
    stage.done(2, 2);
    EXPECT_EQ(stage.status(0), TrialStatus::running);
    for (int trial : {1, 2}) stage.done(trial, 3);
    for (int epoch : {0, 1, 2, 3}) stage.done(0, epoch);
    EXPECT_EQ(stage.status(0), TrialStatus::finished);
}

TEST(Orders, ACloneWaitsForTheLapOfItsSource) {
    Script script;
    script.until = 4;
    script.trials = 2;
    Stage stage(script, 4, options(1, 2, 1));
    stage.ordered(1, 0, clone(0, 1));
    stage.done(0, 0);
    EXPECT_EQ(stage.director->trials().size(), 2U);
    stage.released();
    stage.done(0, 1);
    EXPECT_EQ(stage.released(), "2:2<0:1 2:3 ");
}

TEST(Orders, ACloneOfATrialThatEndsBeforeBeginsAfterItsLastLap) {
    for (bool const had_one : {true, false}) {
        Script script;
        script.until = 4;
        script.trials = 2;
        Stage stage(script, 4, options(1, 2, 1));
        stage.ordered(1, 0, clone(0, 1));
        if (had_one) stage.done(0, 0);
        stage.released();
        stage.done(0, had_one ? 1 : 0, 0, Outcome::diverged);
        EXPECT_EQ(stage.released(), had_one ? "2:1<0:0 2:2 2:3 " : "");
        for (int epoch : {1, 2, 3}) stage.done(1, epoch);
        if (had_one)
            for (int epoch : {1, 2, 3}) stage.done(2, epoch);
        EXPECT_TRUE(stage.director->finished());
    }
}

// A source that was stopped in its first lap is taken up: then there is something to begin with.
TEST(Orders, ACloneOfATrialThatIsTakenUpBeginsThen) {
    Script script;
    script.until = 4;
    script.trials = 2;
    Stage stage(script, 4, options(1, 2, 0));
    stage.orders = {clone(0, 0), stop(0)};
    stage.done(1, 0);
    stage.done(0, 0, 0, Outcome::stopped);
    EXPECT_EQ(stage.status(0), TrialStatus::stopped);
    EXPECT_EQ(stage.director->ordered_sources(), (std::set{LapId{TrialId(0), 0}}));
    stage.ordered(1, 1, resume(0));
    stage.released();
    stage.done(0, 0);
    for (int epoch : {2, 3}) stage.done(1, epoch);
    EXPECT_EQ(stage.released(), "2:1<0:0 2:2 2:3 ");
    EXPECT_TRUE(stage.director->ordered_sources().empty());
}

// The source is the last trial that trains, and a user stops it.
TEST(Orders, ACloneIsNotForgottenAtTheEnd) {
    Script script;
    script.until = 4;
    script.trials = 1;
    Stage stage(script, 4, options(1, 1, 0));
    stage.orders = {clone(0, 1), stop(0)};
    stage.done(0, 0);
    EXPECT_EQ(stage.status(0), TrialStatus::stopped);
    EXPECT_FALSE(stage.director->finished());
    EXPECT_EQ(stage.trial(1).first_epoch, 1);
    for (int epoch : {1, 2, 3}) stage.done(1, epoch);
    EXPECT_TRUE(stage.director->finished());
}

TEST(Orders, AfterFinishNobodyStartsOrGoesOn) {
    Script script;
    script.trials = 9;
    script.verdicts[{TrialId(0), 0}] = verdict(Kind::go_on, 3);
    script.verdicts[{TrialId(1), 0}] = verdict(Kind::pause);
    script.resumes = {{TrialId(1), 3}};
    Stage stage(script, 9, options(1, 3, 0));
    stage.ordered(0, 0, finish());
    stage.done(1, 0);
    EXPECT_FALSE(stage.director->finished());
    stage.done(2, 0);
    EXPECT_TRUE(stage.director->finished());
    EXPECT_EQ(stage.director->trials().size(), 3U);
    EXPECT_EQ(stage.trial(1).reason, "a user finishes it");
    EXPECT_EQ(stage.status(2), TrialStatus::finished);
    EXPECT_EQ(stage.director->finish_reason(), "a user finishes it");
}

TEST(Orders, OfALapThatIsDroppedAreObeyedToo) {
    Script script;
    script.trials = 2;
    script.until = 3;
    Stage stage(script, 9, options(1, 2, 0));
    stage.done(0, 0, 0, Outcome::failed);
    stage.ordered(0, 1, finish());
    EXPECT_EQ(stage.director->finish_reason(), "a user finishes it");
    EXPECT_THROW(stage.ordered(1, 0, stop(7)), Error);
}

// Every procedure.
std::vector<std::string> const k_procedures = every_procedure_and(
    {R"("procedure": "random", "trials": 12)", R"("procedure": "asha", "trials": 1000, "budget": {"epochs": 60})",
     R"("procedure": "successive_halving", "trials": 9, "repeats": 2)",
     R"("procedure": "asha", "trials": 9, "variant": "stop", "eta": 2, "repeats": 3)",
     R"("procedure": "median", "trials": 9, "folds": 2)",
     R"("procedure": "random", "trials": 12, "repeats": 2, "budget": {"patience": 4})",
     R"("procedure": "random", "trials": 6, "repeats": 3, "race": true)",
     R"("procedure": "asha", "trials": 9, "eta": 2, "folds": 2, "race": true)"});

Experiment experiment_of(std::string const& procedure, std::string const& more = "") {
    Problems problems("f.json");
    auto out =
        read_experiment(R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "run": {"dir": "r"}, "train": {"epochs": 9)" +
                            more + R"(}, "search": {"metric": "val_loss", )" + procedure +
                            R"(}, "space": {"train.optimizer.lr": {"type": "float", "low": 1e-4, "high": 1, "log": true},
                            "train.optimizer.momentum": {"type": "float", "low": 0.1, "high": 0.9}}})",
                        {}, problems);
    EXPECT_EQ(problems.text(), "");
    return out;
}

std::unique_ptr<Director> director_of(Experiment const& experiment, DecideBy by = DecideBy::virtual_time) {
    auto const cost = [](TrialView const& trial) { return 1 + 3 * trial.config->train.optimizer.momentum; };
    return make_director(experiment, make_search(experiment), {cost, 4, 0, 1, by});
}

double dice(std::int64_t seed, LapId const& lap, int which) {
    return Rng(stream_key(static_cast<std::uint64_t>(seed), Purpose::synthetic, {lap.trial.value, lap.epoch, which}))
        .uniform();
}

Assignment values_of(std::int64_t seed, LapId const& lap) {
    return {{"train.optimizer.lr", 0.1}, {"train.optimizer.momentum", 0.1 + 0.8 * dice(seed, lap, 5)}};
}

// With a lap come orders for trials that are there when the search hears of it: those before it.
std::vector<Order> random_orders(std::int64_t seed, LapId const& lap, std::function<bool(Order const&)> const& allowed) {
    std::vector<Order> out;
    for (int i = 0; i < 2; ++i) {
        double const what = dice(seed, lap, 10 * i + 1);
        auto const whom = static_cast<int>(dice(seed, lap, 10 * i + 2) * (lap.trial.value + 1));
        Order order = what < 0.06 ? stop(whom) : what < 0.12 ? resume(whom) : clone(lap.trial.value, lap.epoch);
        if (what > 0.12 && what < 0.15) order.assignment = values_of(seed, lap);
        if (what > 0.15 && what < 0.153) order = finish();
        if (what < 0.153 && allowed(order)) out.push_back(order);
    }
    return out;
}

SimulatedJob::Bad outcomes(std::int64_t seed, double share) {
    return [seed, share](LapId const& lap) {
        if (dice(seed, lap, 3) >= share || lap.trial.value % 3 != 2) return Outcome::finished;
        return dice(seed, lap, 4) < 0.5 ? Outcome::diverged : Outcome::stopped;
    };
}

void expect_all_ended(Director const& director, std::string const& about) {
    for (auto const& view : director.trials()) {
        EXPECT_TRUE(has_ended(view.status)) << about << " " << view.id.value << " " << name_of(view.status);
        EXPECT_LE(view.epochs_done, 9) << about;
    }
}

TEST(Orders, WhateverTheyAreARunEndsAndItsRecordsReplayIt) {
    std::size_t clones = 0, resumed = 0, stopped = 0;
    for (auto const& procedure : k_procedures)
        for (int seed = 0; seed < 30; ++seed) {
            auto const experiment = experiment_of(procedure, seed % 3 == 0 && procedure.find("pbt") == procedure.npos
                                                                 ? R"(, "early_stopping": {"patience": 2})"
                                                                 : "");
            auto const by = seed % 5 == 4 ? DecideBy::arrival : DecideBy::virtual_time;
            auto const about = fmt::format("{} seed {}", procedure, seed);
            auto const first = director_of(experiment, by), second = director_of(experiment, by);
            SimulatedJob job(*first, static_cast<std::uint64_t>(seed), outcomes(seed, 0.1));
            job.orders = [&](LapId const& lap) { return random_orders(seed, lap, [](Order const&) { return true; }); };
            ASSERT_TRUE(job.run_in_any_order(3000)) << about << " hangs";
            ASSERT_TRUE(first->finished()) << about << " does not end";
            expect_all_ended(*first, about);
            SimulatedJob again(*second, 0);
            again.feed(job);
            ASSERT_EQ(again.outcome(), job.outcome()) << about;
            for (auto const& view : first->trials()) {
                stopped += view.reason == "stopped by a user" ? 1 : 0;
                clones +=
                    view.assignment.size() == 2 && *value_of(view.assignment, "train.optimizer.lr") == Json(0.1) ? 1 : 0;
            }
            for (auto at = job.decisions.find("a user takes it up"); at != std::string::npos;
                 at = job.decisions.find("a user takes it up", at + 1))
                ++resumed;
        }
    EXPECT_GT(stopped, 100U);
    EXPECT_GT(clones, 100U);
    EXPECT_GT(resumed, 100U);
}

// A search that decides nothing on the way.
TEST(Orders, ACloneWaitsForItsSourceHereToo) {
    for (auto const outcome : {Outcome::finished, Outcome::stopped}) {
        auto const director = director_of(experiment_of(R"("procedure": "random", "trials": 2)"));
        director->release();
        LapRecord record;
        record.trial = TrialId(0);
        record.valid.rows = 1;
        record.orders = {clone(0, 1)};
        record.orders.front().assignment = values_of(1, {TrialId(0), 0});
        director->record(record);
        EXPECT_TRUE(director->release().empty());
        record.orders.clear();
        record.epoch = 1;
        record.outcome = outcome;
        director->record(record);
        auto const laps = director->release();
        auto const epoch = outcome == Outcome::finished ? 1 : 0;
        ASSERT_EQ(laps.size(), static_cast<std::size_t>(9 - epoch - 1));
        EXPECT_EQ(laps.front().clone_of, (LapId{TrialId(0), epoch}));
        EXPECT_EQ(laps.front().epoch, epoch + 1);
        EXPECT_EQ(director->trials()[2].epochs_released, 9);
    }
}

// Orders that come with the same laps lead to the same decisions, whatever trainers and timing. (How far a trial had got
// that is stopped does depend on them, and so do the laps of it that are dropped; so it is not taken up here, and brings no
// orders.)
TEST(Orders, WithTheSameLapsLeadToTheSameDecisions) {
    for (auto const& procedure : k_procedures) {
        if (procedure.find("random") != procedure.npos) continue;  // decides nothing
        auto const experiment = experiment_of(procedure);
        for (int seed = 0; seed < 10; ++seed) {
            auto const allowed = [seed](Order const& order) {
                if (seed % 2 == 1) return order.kind == Order::Kind::finish;
                if (order.kind == Order::Kind::stop) return order.trial.value % 3 == 0;
                return order.kind != Order::Kind::finish && order.trial.value % 3 == 1;
            };
            std::string expected;
            for (int trainers = 0; trainers <= 8; ++trainers) {
                auto const director = director_of(experiment);
                SimulatedJob job(*director, static_cast<std::uint64_t>(100 * seed + trainers), outcomes(seed, 0.1));
                job.orders = [&](LapId const& lap) {
                    return lap.trial.value % 3 == 1 ? random_orders(seed, lap, allowed) : std::vector<Order>();
                };
                Rng timing(static_cast<std::uint64_t>(trainers));
                auto const cost = [&](LapId const&, int) { return std::exp(2 * timing.normal()); };
                auto const about = fmt::format("{} seed {} trainers {}", procedure, seed, trainers);
                ASSERT_TRUE(trainers == 0 ? job.run_in_any_order(3000) : job.run_on(4, trainers, cost, 3000))
                    << about << " hangs";
                ASSERT_TRUE(director->finished()) << about << " does not end";
                if (trainers == 0) expected = job.decisions;
                ASSERT_EQ(job.decisions, expected) << about;
            }
        }
    }
}

}  // namespace orders_test
}  // namespace hopscotch
