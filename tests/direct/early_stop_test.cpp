// SPDX-License-Identifier: Apache-2.0
// train.early_stopping, through the director: which laps are released, and how a trial ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "direct/director.hpp"
#include "experiment/reader.hpp"
#include "search/search.hpp"

namespace hopscotch {
namespace early_stop_test {

// A trial whose val_accuracy follows the given hundredths, told in the order in which laps are released.
std::vector<LapRecord> accuracies(std::vector<int> const& hundredths) {
    std::vector<LapRecord> out;
    for (auto const hits : hundredths) {
        LapRecord record;
        record.trial = TrialId(0);
        record.epoch = static_cast<int>(out.size());
        record.valid.rows = hits < 0 ? 0 : 100;
        record.valid.correct = hits;
        out.push_back(record);
    }
    return out;
}

Experiment impatient(std::string const& space, int epochs, std::string const& rule) {
    Problems problems("f.json");
    auto out =
        read_experiment(R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "run": {"dir": "r"}, "train": {"epochs": )" +
                            std::to_string(epochs) + R"(, "early_stopping": )" + rule + R"(}, "space": )" + space + "}",
                        {}, problems);
    EXPECT_EQ(problems.text(), "");
    return out;
}

double any_cost(TrialView const&) { return 1; }

// Runs one trial alone; returns it, and checks that every lap that was released was also wanted.
TrialView run_alone(Experiment const& experiment, std::vector<int> const& hundredths) {
    auto const director = make_director(experiment, make_search(experiment), {any_cost, 2, 1});
    auto const records = accuracies(hundredths);
    std::size_t next = 0;
    for (auto laps = director->release(); !laps.empty(); laps = director->release())
        for (auto const& lap : laps) {
            EXPECT_EQ(static_cast<std::size_t>(lap.epoch), next);
            EXPECT_FALSE(director->finished()) << "lap " << next << " is one too many";
            director->record(records.at(next++));
        }
    EXPECT_TRUE(director->finished());
    return director->trials().front();
}

TEST(EarlyStopping, EndsATrialThatNoLongerImproves) {
    auto const experiment = impatient(R"({"model.a": [1]})", 9, R"({"patience": 3})");
    auto const view = run_alone(experiment, {50, 90, 91, 91, 80, 90, 0, 0, 0});
    EXPECT_EQ(view.status, TrialStatus::stopped);
    EXPECT_EQ(view.epochs_done, 6);
    EXPECT_EQ(view.reason, "no better val_accuracy for 3 epochs (best 0.91 in epoch 2)");
    auto const steady = run_alone(experiment, {50, 40, 40, 51, 40, 40, 52, 40, 40});
    EXPECT_EQ(steady.status, TrialStatus::finished) << "the counter starts again with every improvement";
    EXPECT_EQ(steady.epochs_done, 9);
    auto const late = run_alone(experiment, {50, 60, 70, 80, 90, 95, 95, 95, 95});
    EXPECT_EQ(late.status, TrialStatus::finished) << "what has had all its epochs is finished, not stopped";
    auto const none = run_alone(experiment, {-1, -1, -1});
    EXPECT_EQ(none.status, TrialStatus::stopped);
    EXPECT_EQ(none.reason, "no finite val_accuracy for 3 epochs");
}

TEST(EarlyStopping, WhatIsNoMoreThanMinDeltaIsNoImprovement) {
    auto const view =
        run_alone(impatient(R"({"model.a": [1]})", 9, R"({"patience": 1, "min_delta": 0.125})"), {25, 50, 75, 87, 99});
    EXPECT_EQ(view.epochs_done, 4);
    EXPECT_EQ(view.reason, "no better val_accuracy for 1 epoch (best 0.75 in epoch 2)");
}

TEST(EarlyStopping, IsOffByDefaultAndSearchable) {
    auto const experiment = impatient(R"({"train.early_stopping.patience": [0, 2]})", 5, "{}");
    auto const director = make_director(experiment, make_search(experiment), {any_cost, 1, 2});
    std::vector<int> laps(2);
    for (auto const& lap : director->release()) ++laps[lap.trial.index()];
    EXPECT_EQ(laps, (std::vector{5, 2}));
}

// Whatever the order in which the laps of different trials come in, every trial ends after the same epoch.
TEST(EarlyStopping, IsAFunctionOfTheTrialAlone) {
    auto const experiment = impatient(R"({"model.a": [0, 1, 2, 3, 4, 5]})", 12, R"({"patience": 2})");
    std::mt19937 random(7);
    std::vector<std::vector<LapRecord>> records;
    for (int trial = 0; trial < 6; ++trial) {
        std::vector<int> hundredths;
        for (int epoch = 0; epoch < 12; ++epoch) hundredths.push_back(static_cast<int>(random() % 100));
        records.push_back(accuracies(hundredths));
        for (auto& record : records.back()) record.trial = TrialId(trial);
    }
    std::vector<int> expected;
    for (int round = 0; round < 50; ++round) {
        auto const director = make_director(experiment, make_search(experiment), {any_cost, 3, 1 + round % 6});
        std::vector<std::vector<int>> open(6);  // released laps that have not come back, by trial
        auto const take = [&] {
            for (auto const& lap : director->release()) open[lap.trial.index()].push_back(lap.epoch);
        };
        for (take(); !director->finished(); take()) {
            auto const trial = random() % open.size();
            if (open[trial].empty()) continue;
            director->record(records[trial][static_cast<std::size_t>(open[trial].front())]);
            open[trial].erase(open[trial].begin());
        }
        std::vector<int> ends;
        for (auto const& view : director->trials()) ends.push_back(view.epochs_done);
        for (auto const& laps : open) EXPECT_TRUE(laps.empty()) << "a lap was released that no one wants";
        if (round == 0) expected = ends;
        EXPECT_EQ(ends, expected);
    }
    EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), [](int epochs) { return epochs < 12; }));
}

}  // namespace early_stop_test
}  // namespace hopscotch
