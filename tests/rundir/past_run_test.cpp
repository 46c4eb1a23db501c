// SPDX-License-Identifier: Apache-2.0
#include "rundir/past_run.hpp"
#include "core/json_reader.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "core/error.hpp"
#include "rundir/journal.hpp"
#include "rundir/journal_writer.hpp"
#include "rundir/recorded_run.hpp"
#include "rundir/records.hpp"
#include "rundir/run_directory.hpp"

namespace hopscotch {
namespace past_run_test {

using namespace testing;

LapRecord lap(int trial, int epoch, double correct, Outcome outcome = Outcome::finished) {
    LapRecord out;
    out.trial = TrialId(trial);
    out.epoch = epoch;
    out.outcome = outcome;
    out.valid.rows = 100;
    out.valid.correct = correct;
    out.valid.loss = 50;
    return out;
}

// A directory as a run leaves it: four trials, of which one has failed, one was cut off and one has reported nothing;
// and a clone.
std::filesystem::path a_run(Scratch const& scratch) {
    Problems told("");
    RunFacts facts;
    facts.experiment = parse_json(R"({"name": "e", "data": {"path": "d"}, "model": {"name": "mlp"}, "run": {"dir": "r"},
        "train": {"epochs": 3}, "search": {"procedure": "grid"}, "space": {"train.optimizer.lr": [0.1, 0.2, 0.3, 0.4]}})",
                                  told);
    facts.dataset_hash = "abc";
    facts.build.libraries = Json::object({});
    facts.fleet.owners.trainers = 1;
    facts.fleet.owners.owner = {TrainerId(0)};
    RunDirectory const directory(scratch / "run", RunDirUse::fresh, facts);
    JournalWriter journal(directory.file("journal.jsonl"));
    for (int trial : {0, 1, 2, 3, 7}) {
        Lap released;
        released.trial = TrialId(trial);
        released.assignment = {{"train.optimizer.lr", Json(0.1 * (trial + 1))}};
        journal.lap_released(released);
    }
    auto const ended = [&](int trial, TrialStatus status) {
        TrialView view;
        view.id = TrialId(trial);
        view.status = status;
        journal.trial_ended(view);
    };
    journal.lap_done(lap(1, 0, 70));
    journal.lap_done(lap(0, 0, 80));
    journal.lap_done(lap(0, 1, 90));
    journal.lap_done(lap(0, 1, 90));  // trained again
    ended(0, TrialStatus::finished);
    journal.lap_done(lap(2, 0, 10));
    journal.lap_done(lap(2, 1, 0, Outcome::diverged));
    ended(1, TrialStatus::interrupted);
    journal.lap_done(lap(7, 2, 95));  // a clone that a user ordered: what it learned in its first epochs is another trial's
    return directory.path();
}

SearchConfig comparing(std::string const& metric, Mode mode = Mode::max) {
    SearchConfig out;
    out.metric = metric;
    out.mode = mode;
    return out;
}

std::string refusal(std::filesystem::path const& directory, std::string const& metric) {
    try {
        past_trials(read_run(directory), comparing(metric));
    } catch (DataError const& error) {
        return error.what();
    }
    return {};
}

void expect_the_run(std::vector<PastTrial> const& trials) {
    ASSERT_EQ(trials.size(), 3U) << "who has reported nothing teaches nothing";
    EXPECT_EQ(trials[0].losses, (std::vector{-0.8, -0.9})) << "lower is better";
    EXPECT_EQ(trials[1].losses, (std::vector{-0.7}));
    EXPECT_EQ(trials[2].losses, (std::vector{-0.1, std::numeric_limits<double>::infinity()}));
    EXPECT_EQ(trials[0].progress, PastTrial::Progress::ended);
    EXPECT_EQ(trials[1].progress, PastTrial::Progress::cut_off);
    EXPECT_EQ(trials[2].progress, PastTrial::Progress::ended) << "though no one has written its end";
    EXPECT_EQ(trials[0].assignment, (Assignment{{"train.optimizer.lr", Json(0.1)}}));
}

TEST(PastRun, IsReadAndWrittenAndReadAgain) {
    Scratch scratch;
    auto const run = read_run(a_run(scratch));
    EXPECT_EQ(run.facts.dataset_hash, "abc");
    auto const trials = past_trials(run, comparing("val_accuracy"));
    expect_the_run(trials);
    std::ofstream(scratch / "start_from.json") << to_json(trials).dump();
    expect_the_run(read_past_trials(scratch / "start_from.json"));
}

TEST(PastRun, AnotherMetricOfTheSameRun) {
    Scratch scratch;
    auto const trials = past_trials(read_run(a_run(scratch)), comparing("val_loss", Mode::min));
    EXPECT_EQ(trials.at(0).losses, (std::vector{0.5, 0.5}));
}

TEST(PastRun, SeveralObjectivesAreReadAndWrittenAndReadAgain) {
    Scratch scratch;
    auto search = comparing("val_accuracy");
    search.front.compares = true;
    search.front.names = {"val_loss", "parameters", "val_accuracy"};
    auto const expect = [](std::vector<PastTrial> const& trials) {
        ASSERT_EQ(trials.size(), 3U);
        EXPECT_EQ(trials[0].losses, (std::vector{-0.8, -0.9}));
        EXPECT_EQ(trials[0].metrics, (std::vector<std::vector<double>>{{0.5, -0.8}, {0.5, -0.9}}));
        EXPECT_EQ(trials[2].metrics, (std::vector<std::vector<double>>{{0.5, -0.1}, {}})) << "its second lap has diverged";
    };
    auto const run = read_run(a_run(scratch));
    auto const trials = past_trials(run, search);
    expect(trials);
    std::ofstream(scratch / "start_from.json") << to_json(trials).dump();
    expect(read_past_trials(scratch / "start_from.json"));
    search.front.names = {"val_accuracy", "val_mae"};
    EXPECT_THROW(past_trials(run, search), DataError) << "no lap has both";
}

TEST(PastRun, WhatCannotBeUsedIsRefused) {
    Scratch scratch;
    auto const directory = a_run(scratch);
    EXPECT_NE(refusal(directory, "val_mae").find("has no val_mae (its search.metric was val_accuracy)"), std::string::npos)
        << refusal(directory, "val_mae");
    JournalWriter(directory / "journal.jsonl").lap_done(lap(9, 0, 1));
    EXPECT_NE(refusal(directory, "val_accuracy").find("trial 9 was not released before"), std::string::npos);
    std::ofstream(directory / "journal.jsonl", std::ios::app) << "{\"event\": 1}\n";
    EXPECT_NE(refusal(directory, "val_accuracy").find("journal.jsonl:"), std::string::npos);
    std::ofstream(scratch / "bad.json") << R"([{"config": {}, "losses": ["x"], "ended": true}])";
    EXPECT_THROW(read_past_trials(scratch / "bad.json"), DataError);
    std::ofstream(scratch / "bad.json") << R"([{"config": {}, "losses": [1, 2], "metrics": [[1, 3]], "ended": true}])";
    EXPECT_THROW(read_past_trials(scratch / "bad.json"), DataError) << "an epoch has no metrics";
}

}  // namespace past_run_test
}  // namespace hopscotch
