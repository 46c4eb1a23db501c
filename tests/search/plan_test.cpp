// SPDX-License-Identifier: Apache-2.0
#include "search/plan.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/error.hpp"
#include "every_procedure.hpp"
#include "fake_director.hpp"
#include "search/rule.hpp"

namespace hopscotch {
namespace plan_test {

std::string const k_unit = R"({"train.optimizer.lr": {"type": "float", "low": 0, "high": 1}})";

std::string text(std::string const& search, int epochs, std::string const& space = k_unit) {
    return text_of(plan_of(search_experiment(search, space, "{\"epochs\": " + std::to_string(epochs) + "}")));
}

TEST(Plan, Hyperband) {
    EXPECT_EQ(text(R"({"procedure": "hyperband"})", 27),
              "bracket 0: 27 to epoch 1, 9 to epoch 3, 3 to epoch 9, 1 to epoch 27\n"
              "bracket 1: 12 to epoch 3, 4 to epoch 9, 1 to epoch 27\n"
              "bracket 2: 6 to epoch 9, 2 to epoch 27\n"
              "bracket 3: 4 to epoch 27\n"
              "49 trials, 357 epochs in all\n");
    auto const plan = plan_of(search_experiment(R"({"procedure": "hyperband", "trials": 60})", k_unit, R"({"epochs": 27})"));
    EXPECT_EQ(plan.iterations, 2);
    EXPECT_EQ(plan.trials, 60);
    EXPECT_EQ(plan.epochs, 357 + 11 + 3 * 2 + 6 + 18);
    auto const short_one =
        plan_of(search_experiment(R"({"procedure": "bohb"})", R"({"train.batch_size": [1, 2, 4]})", R"({"epochs": 9})"));
    EXPECT_EQ(short_one.trials, 3) << "there are no more";
    EXPECT_EQ(short_one.epochs, 3 + 2 + 6);
}

TEST(Plan, TheOthers) {
    EXPECT_EQ(text(R"({"procedure": "successive_halving", "trials": 27})", 27),
              "rungs: 27 to epoch 1, 9 to epoch 3, 3 to epoch 9, 1 to epoch 27\n27 trials, 81 epochs in all\n");
    EXPECT_EQ(
        text(R"({"procedure": "asha", "trials": 27, "min_epochs": 1})", 10),
        "rungs: 27 to epoch 1, 9 to epoch 3, 3 to epoch 9, 1 to epoch 10\n27 trials, between 64 and 236 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "asha", "trials": 27, "min_epochs": 1, "variant": "stop"})", 9),
              "27 trials, at most 243 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "random", "trials": 5})", 4), "5 trials, 20 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "grid"})", 4, R"({"train.epochs": [2, 9]})"), "2 trials, 11 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "tpe", "trials": 50})", 4), "50 trials, 200 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "tpe", "trials": 50})", 4, R"({"train.batch_size": [1, 2, 4]})"),
              "3 trials, 12 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "pbt"})", 20), "10 trials, 200 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "median", "trials": 8, "min_epochs": 1, "max_epochs": 3})", 20),
              "8 trials, at most 24 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "asha", "min_epochs": 1, "sampler": "grid"})", 9,
                   R"({"train.batch_size": [1, 2, 4, 8, 16, 32, 64, 128, 256]})"),
              "rungs: 9 to epoch 1, 3 to epoch 3, 1 to epoch 9\n9 trials, between 21 and 53 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "pbt", "budget": {"epochs": 60}})", 20),
              "at most 10 trials, between 60 and 79 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "tpe", "trials": 2})", 4, R"({"train.epochs": [2, 9]})"),
              "2 trials, between 4 and 18 epochs in all\n");
}

TEST(Plan, TheFirstDecisionByDefault) {
    auto const first = [](std::string const& keys, int epochs) {
        auto const lap = fmt::format(R"({{"epochs": {}}})", epochs);
        return first_decision(search_experiment(R"({"trials": 9, )" + keys + "}", k_unit, lap));
    };
    for (std::string const keys : {R"("procedure": "asha")", R"("procedure": "median")"}) {
        for (auto const& [epochs, expected] : std::vector<std::pair<int, int>>{
                 {1, 1}, {3, 1}, {5, 1}, {6, 2}, {9, 2}, {27, 2}, {52, 2}, {54, 2}, {55, 3}, {100, 4}, {1000, 38}})
            EXPECT_EQ(first(keys, epochs), expected) << keys << epochs;
        EXPECT_EQ(first(keys + R"(, "max_epochs": 5)", 100), 1) << "as long as a trial may train";
        EXPECT_EQ(first(keys + R"(, "min_epochs": 1)", 100), 1);
    }
    for (auto const& [epochs, expected] :
         std::vector<std::pair<int, int>>{{5, 1}, {9, 2}, {18, 2}, {19, 3}, {52, 6}, {100, 12}})
        EXPECT_EQ(first(R"("procedure": "best_after")", epochs), expected) << epochs;
    EXPECT_EQ(first(R"("procedure": "asha", "eta": 10)", 16), 1) << "another rung has room before the last epoch";
    EXPECT_EQ(first(R"("procedure": "asha", "eta": 2)", 4), 2);
    EXPECT_EQ(first(R"("procedure": "hyperband")", 52), 1) << "its brackets hedge";
    EXPECT_EQ(first(R"("procedure": "successive_halving")", 52), 1);
    EXPECT_EQ(text(R"({"procedure": "asha", "trials": 27})", 52),
              "rungs: 27 to epoch 2, 9 to epoch 6, 3 to epoch 18, 1 to epoch 52\n"
              "no decision before epoch 2 (ranks after first epochs are mostly noise); search.min_epochs changes that\n"
              "27 trials, between 160 and 1144 epochs in all\n");
}

TEST(Plan, TheBestAfterSomeEpochs) {
    EXPECT_EQ(text(R"({"procedure": "best_after", "trials": 40, "min_epochs": 3})", 52),
              "rungs: 40 to epoch 3, 4 to epoch 52\n40 trials, 316 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "best_after", "trials": 5, "min_epochs": 3, "keep": 2})", 9),
              "rungs: 5 to epoch 3, 2 to epoch 9\n5 trials, 27 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "best_after", "trials": 5, "min_epochs": 3, "keep": 50})", 9),
              "rungs: 5 to epoch 3, 5 to epoch 9\n5 trials, 45 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "best_after", "trials": 5, "min_epochs": 9})", 9), "5 trials, 45 epochs in all\n");
    // 183 x 3 + 10 x 49 = 1039: as many as the budget can pay.
    EXPECT_EQ(text(R"({"procedure": "best_after", "min_epochs": 3, "keep": 10, "budget": {"epochs": 1040}})", 52),
              "rungs: 183 to epoch 3, 10 to epoch 52\n183 trials, 1039 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "best_after", "min_epochs": 2, "sampler": "grid"})", 4,
                   R"({"train.batch_size": [1, 2, 4]})"),
              "rungs: 3 to epoch 2, 1 to epoch 4\n3 trials, 8 epochs in all\n");
}

// Whatever the search does, it trains no more trials than its plan says, and its epochs lie within the bounds.
TEST(Plan, BoundsEveryProcedure) {
    for (auto const& keys : with_every_procedure({})) {
        auto const experiment = search_experiment("{" + keys + "}", k_unit, R"({"epochs": 9})");
        auto const plan = plan_of(experiment);
        auto const search = make_search(experiment);
        FakeDirector director(
            *search, 4, [](TrialId id, auto const&, int) { return std::optional(id.value * 7 % 11 * 1.0); }, 3);
        ASSERT_TRUE(director.run()) << keys;
        std::int64_t epochs = 0;
        for (auto const& trial : director.trials()) epochs += trial.epochs;
        EXPECT_LE(std::ssize(director.trials()), plan.trials) << keys;
        EXPECT_LE(epochs, plan.most) << keys;
        EXPECT_GE(epochs, plan.least) << keys;
        EXPECT_FALSE(text_of(plan).empty()) << keys;
    }
}

// Without failures the plan of the synchronous ones is what happens.
TEST(Plan, IsWhatHappens) {
    for (auto const* search_text : {R"({"procedure": "hyperband"})", R"({"procedure": "hyperband", "trials": 60, "eta": 2})",
                                    R"({"procedure": "successive_halving", "trials": 50})", R"({"procedure": "pbt"})"}) {
        auto const experiment = search_experiment(search_text, k_unit, R"({"epochs": 27})");
        auto const plan = plan_of(experiment);
        auto const search = make_search(experiment);
        FakeDirector director(
            *search, 7, [](TrialId id, auto const&, int) { return std::optional(id.value * 7 % 11 * 1.0); }, 3);
        ASSERT_TRUE(director.run());
        std::int64_t epochs = 0;
        for (auto const& trial : director.trials()) epochs += trial.epochs;
        EXPECT_EQ(std::ssize(director.trials()), plan.trials) << search_text;
        EXPECT_EQ(epochs, plan.epochs) << search_text;
    }
}

struct Trained {
    std::int64_t trials = 0, epochs = 0;
};

// loss: of a trial, by its number.
Trained trained(Experiment const& experiment, std::size_t in_flight, int (*loss)(int)) {
    auto const search = make_search(experiment);
    FakeDirector director(
        *search, in_flight, [&](TrialId id, auto const&, int) { return std::optional(1.0 * loss(id.value)); }, 3);
    EXPECT_TRUE(director.run());
    Trained out{std::ssize(director.trials()), 0};
    for (auto const& trial : director.trials()) out.epochs += trial.epochs;
    return out;
}

// Too few trials for a rung: the best one goes all the way nevertheless.
TEST(Plan, AshaOfTwoTrialsIsKnownBeforehand) {
    auto const experiment =
        search_experiment(R"({"procedure": "asha", "min_epochs": 1, "trials": 2})", k_unit, R"({"epochs": 27})");
    EXPECT_EQ(text_of(plan_of(experiment)),
              "rungs: 2 to epoch 1, 1 to epoch 3, 1 to epoch 9, 1 to epoch 27\n2 trials, 28 epochs in all\n");
    EXPECT_EQ(trained(experiment, 2, [](int trial) { return trial; }).epochs, 28);
    EXPECT_EQ(trained(experiment, 1, [](int trial) { return -trial; }).epochs, 28);
}

// The bounds hold for results that get better, worse and both, one by one and many at once; the upper one is reached.
TEST(Plan, BoundsOfAshaAndOfBudgetsHold) {
    for (std::string const search :
         {R"({"procedure": "asha", "trials": 27})", R"({"procedure": "asha", "trials": 7, "eta": 2, "min_epochs": 2})",
          R"({"procedure": "asha", "trials": 20, "budget": {"epochs": 50}})",
          R"({"procedure": "asha", "budget": {"epochs": 40}})", R"({"procedure": "hyperband", "budget": {"epochs": 100}})",
          R"({"procedure": "pbt", "budget": {"epochs": 60}})",
          R"({"procedure": "successive_halving", "trials": 27, "budget": {"epochs": 50}})",
          R"({"procedure": "median", "trials": 8, "budget": {"epochs": 70}})",
          R"({"procedure": "best_after", "trials": 20})", R"({"procedure": "best_after", "budget": {"epochs": 90}})",
          R"({"procedure": "best_after", "trials": 30, "keep": 4, "min_epochs": 3, "budget": {"epochs": 100}})",
          R"({"procedure": "random", "trials": 9, "budget": {"epochs": 40}})",
          R"({"procedure": "tpe", "trials": 9, "budget": {"epochs": 40}})",
          R"({"procedure": "tpe", "budget": {"epochs": 54}})"}) {
        auto const experiment = search_experiment(search, k_unit, R"({"epochs": 27})");
        auto const plan = plan_of(experiment);
        for (std::size_t in_flight : {1, 3, 30})
            for (auto* loss : {+[](int trial) { return trial; }, +[](int trial) { return -trial; },
                               +[](int trial) { return trial * 7 % 11; }}) {
                auto const [trials, epochs] = trained(experiment, in_flight, loss);
                EXPECT_LE(trials, plan.trials) << search;
                if (plan.trials_bound == SearchPlan::Bound::exact) {
                    EXPECT_EQ(trials, plan.trials) << search;
                }
                EXPECT_LE(epochs, plan.most) << search << in_flight;
                EXPECT_GE(epochs, plan.least) << search << in_flight;
            }
    }
    auto const experiment =
        search_experiment(R"({"procedure": "asha", "min_epochs": 1, "trials": 27})", k_unit, R"({"epochs": 27})");
    EXPECT_EQ(text_of(plan_of(experiment)),
              "rungs: 27 to epoch 1, 9 to epoch 3, 3 to epoch 9, 1 to epoch 27\n"
              "27 trials, between 81 and 593 epochs in all\n");
}

// Nothing is decided by results: then the numbers are exact, with a budget too.
TEST(Plan, ABudgetOfWholeTrialsIsExact) {
    auto const text = [](std::string const& procedure) {
        return text_of(
            plan_of(search_experiment(R"({"procedure": ")" + procedure + R"(", "trials": 10, "budget": {"epochs": 10}})",
                                      k_unit, R"({"epochs": 4})")));
    };
    for (auto const* procedure : {"random", "sobol", "tpe"}) EXPECT_EQ(text(procedure), "3 trials, 12 epochs in all\n");
}

TEST(Plan, WhatMayStopEarlyIsAnUpperBound) {
    auto const text = [](std::string const& search, std::string const& train, std::string const& space = k_unit) {
        return text_of(plan_of(search_experiment(search, space, train)));
    };
    std::string const five = R"({"procedure": "random", "trials": 5})";
    EXPECT_EQ(text(five, R"({"epochs": 4, "early_stopping": {"patience": 2}})"), "5 trials, at most 20 epochs in all\n");
    EXPECT_EQ(text(five, R"({"epochs": 4})", R"({"train.early_stopping.patience": [1, 2], "model.a": [1, 2, 3]})"),
              "5 trials, at most 20 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "random", "trials": 5, "budget": {"hours_per_trial": 1}})", R"({"epochs": 4})"),
              "at most 5 trials, at most 20 epochs in all\n");
    EXPECT_EQ(text(R"({"procedure": "tpe", "trials": 5, "budget": {"target": 0.9}})", R"({"epochs": 4})"),
              "at most 5 trials, at most 20 epochs in all\n");
}

}  // namespace plan_test
}  // namespace hopscotch
