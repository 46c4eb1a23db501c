// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "direct/director.hpp"
#include "experiment/reader.hpp"
#include "experiment/space.hpp"
#include "search/search.hpp"

namespace hopscotch {
namespace director_test {

Experiment experiment_with(std::string const& space, std::string const& search = R"({"procedure": "grid"})") {
    Problems problems("f.json");
    auto out = read_experiment(
        R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "train": {"epochs": 2}, "run": {"dir": "r"}, "search": )" +
            search + R"(, "space": )" + space + "}",
        {}, problems);
    EXPECT_EQ(problems.text(), "");
    return out;
}

std::unique_ptr<Director> director_of(Experiment const& experiment, std::function<double(TrialView const&)> cost, int shards,
                                      std::int64_t in_flight) {
    return make_director(experiment, make_search(experiment), {std::move(cost), shards, in_flight});
}

double cost_of(TrialView const& trial) { return trial.config->model.arguments.at("cost").number(); }

LapRecord lap_record(Lap const& lap, Outcome outcome = Outcome::finished) {
    LapRecord out;
    out.trial = lap.trial;
    out.epoch = lap.epoch;
    out.outcome = outcome;
    out.reason = outcome == Outcome::finished ? "" : "loss is not finite";
    return out;
}

std::vector<int> ids(std::vector<Lap> const& laps) {
    std::vector<int> out;
    for (auto const& lap : laps) out.push_back(lap.trial.value);
    return out;
}

TEST(Director, AdmitsLongestFirstWithAllLaps) {
    auto const director = director_of(experiment_with(R"({"model.cost": [1, 3, 2, 5, 4]})"), cost_of, 4, 2);
    auto const first = director->release();
    EXPECT_EQ(ids(first), (std::vector{3, 3, 4, 4}));
    EXPECT_EQ(first[0].epoch, 0);
    EXPECT_EQ(first[1].epoch, 1);
    EXPECT_EQ(first[0].release, first[3].release);
    EXPECT_DOUBLE_EQ(first[0].remaining_cost, 5 * 4 * 2);
    EXPECT_DOUBLE_EQ(first[1].remaining_cost, 5 * 4);
    EXPECT_EQ(*value_of(first[0].assignment, "model.cost"), Json(5));
    EXPECT_TRUE(director->release().empty());
    director->record(lap_record(first[0]));
    EXPECT_TRUE(director->release().empty());  // an epoch, not the trial, has ended
    director->record(lap_record(first[1]));
    EXPECT_EQ(ids(director->release()), (std::vector{1, 1}));
    EXPECT_EQ(director->trials()[3].status, TrialStatus::finished);
    EXPECT_EQ(director->trials()[3].epochs_done, 2);
    EXPECT_EQ(director->trials()[0].status, TrialStatus::waiting);
    EXPECT_FALSE(director->finished());
}

TEST(Director, EqualsGoByIdAndEpochsCount) {
    auto cost = [](TrialView const&) { return 1.0; };
    auto const equal = director_of(experiment_with(R"({"model.cost": [1, 2, 3]})"), cost, 1, 9);
    EXPECT_EQ(ids(equal->release()), (std::vector{0, 0, 1, 1, 2, 2}));
    auto const longer = director_of(experiment_with(R"({"train.epochs": [1, 3]})"), cost, 1, 9);
    EXPECT_EQ(ids(longer->release()), (std::vector{1, 1, 1, 0}));
}

TEST(Director, ABadTrialEndsAloneAndMakesRoom) {
    auto const director = director_of(experiment_with(R"({"model.cost": [1, 2, 3]})"), cost_of, 1, 1);
    auto const bad = director->release();
    EXPECT_EQ(ids(bad), (std::vector{2, 2}));
    director->record(lap_record(bad[0], Outcome::diverged));
    EXPECT_EQ(director->trials()[2].status, TrialStatus::diverged);
    EXPECT_EQ(director->trials()[2].reason, "loss is not finite");
    EXPECT_EQ(director->trials()[2].epochs_done, 0);
    director->record(lap_record(bad[1]));  // a lap that was on its way: dropped
    EXPECT_EQ(director->trials()[2].epochs_done, 0);
    auto const next = director->release();
    EXPECT_EQ(ids(next), (std::vector{1, 1}));
    director->record(lap_record(next[0], Outcome::failed));
    EXPECT_EQ(name_of(director->trials()[1].status), "failed");
    for (auto const& lap : director->release()) director->record(lap_record(lap));
    EXPECT_TRUE(director->finished());
    EXPECT_TRUE(director->release().empty());
    EXPECT_EQ(director->trials()[0].status, TrialStatus::finished);
}

TEST(Director, InterruptEndsWhatHasNotEnded) {
    auto const director = director_of(experiment_with(R"({"model.cost": [1, 2, 3]})"), cost_of, 1, 1);
    for (auto const& lap : director->release()) director->record(lap_record(lap));
    director->release();
    director->interrupt();
    EXPECT_TRUE(director->finished());
    EXPECT_TRUE(director->release().empty());
    EXPECT_EQ(director->trials()[2].status, TrialStatus::finished);
    EXPECT_EQ(director->trials()[1].status, TrialStatus::interrupted);
    EXPECT_EQ(name_of(director->trials()[0].status), "interrupted");
}

TEST(Director, RefusesRecordsThatCannotBe) {
    auto const director = director_of(experiment_with(R"({"model.cost": [1]})"), cost_of, 1, 1);
    auto const laps = director->release();
    EXPECT_THROW(director->record(lap_record(laps[1])), Error);  // epoch 1 before epoch 0
    LapRecord unknown;
    unknown.trial = TrialId(5);
    EXPECT_THROW(director->record(unknown), Error);
    director->record(lap_record(laps[0]));
    director->record(lap_record(laps[0]));  // a second attempt's copy
    EXPECT_EQ(director->trials()[0].epochs_done, 1);
}

}  // namespace director_test
}  // namespace hopscotch
