// SPDX-License-Identifier: Apache-2.0
// Configurations that do not meet search.subject_to never start.
#include <gtest/gtest.h>

#include <set>

#include "core/error.hpp"
#include "experiment/measures.hpp"
#include "fake_director.hpp"
#include "search/plan.hpp"

namespace hopscotch {
namespace constraints_test {

std::string const k_space = R"({"train.batch_size": [16, 32, 64], "model.width": [1, 2, 3]})";

// As many parameters as both numbers' product.
Measures product(Assignment const& assignment) {
    Measures out;
    out.parameters = assignment[0].second.number() * assignment[1].second.number();
    out.state_mb = 1;
    return out;
}

Experiment experiment_of(std::string const& search, std::string const& more = "") {
    return search_experiment("{" + search + R"(, "subject_to": {"parameters": {"above": 16, "below": 96}})" + more + "}",
                             k_space, R"({"epochs": 3})");
}

TEST(Constraints, LeaveOutWhatViolatesThem) {
    for (std::string const procedure :
         {R"("procedure": "grid")", R"("procedure": "random", "trials": 9)", R"("procedure": "sobol", "trials": 9)",
          R"("procedure": "tpe", "trials": 9, "startup": 2)", R"("procedure": "asha", "trials": 9)",
          R"("procedure": "asha", "sampler": "grid")", R"("procedure": "random", "trials": 9, "repeats": 2)",
          R"("procedure": "manual", "configurations": [{"train.batch_size": 16, "model.width": 1}, {"train.batch_size": 32,
          "model.width": 1}])"}) {
        auto const listed = procedure.find("manual") != procedure.npos;
        auto const experiment =
            listed ? search_experiment("{" + procedure + R"(, "subject_to": {"parameters": {"above": 16}}})", "")
                   : experiment_of(procedure);
        auto const search = make_search(experiment, {{}, product});
        FakeDirector director(
            *search, 3, [](TrialId id, auto const&, int) { return std::optional(double(id.value % 5)); }, 1);
        ASSERT_TRUE(director.run()) << procedure;
        std::set<std::string> seen;
        for (auto const& trial : director.trials()) {
            auto const parameters = product(trial.assignment).parameters;
            EXPECT_GT(parameters, 16) << procedure;
            EXPECT_LT(parameters, 96) << procedure;
            seen.insert(to_json(Assignment(trial.assignment.begin(), trial.assignment.begin() + 2)).dump());
        }
        EXPECT_EQ(seen.size(), listed ? 1U : 5U) << procedure << ": 16x2, 16x3, 32x1, 32x2, 64x1";
    }
}

TEST(Constraints, WithoutAMeasureTheyAreNotLookedAt) {
    auto const search = make_search(experiment_of(R"("procedure": "grid")"));
    int trials = 0;
    while (search->next()) ++trials;
    EXPECT_EQ(trials, 9);
}

std::string refused(std::string const& search, std::string const& more = "") {
    try {
        make_search(experiment_of(search, more), {{}, product})->next();
    } catch (ConfigError const& error) {
        return error.what();
    }
    return "";
}

TEST(Constraints, WhatIsWantedByNameIsAnError) {
    EXPECT_EQ(refused(R"("procedure": "random", "trials": 3)",
                      R"(, "start_with": [{"train.batch_size": 64, "model.width": 3}])"),
              "/search/subject_to/parameters: must be above 16 and below 96, and is 192 of "
              "{\"train.batch_size\":64,\"model.width\":3} "
              "(start_with names it); change one of the two");
    EXPECT_EQ(refused(R"("procedure": "ablation")"),
              "/search/subject_to/parameters: must be above 16 and below 96, and is 16 of "
              "{\"train.batch_size\":16,\"model.width\":1} "
              "(ablation needs all of its trials); change one of the two");
}

TEST(Constraints, NothingLeftIsAnError) {
    auto const none = [](std::string const& procedure) -> std::string {
        auto experiment = experiment_of(procedure);
        experiment.search.proposals.subject_to = {{"state_mb", {}, 1}};
        try {
            make_search(experiment, {{}, product})->next();
        } catch (ConfigError const& error) {
            return error.what();
        }
        return "";
    };
    std::string const said =
        "/search/subject_to: excludes every configuration (nothing is left to train); remove a condition";
    EXPECT_EQ(none(R"("procedure": "grid")"), said);
    EXPECT_EQ(none(R"("procedure": "random", "trials": 3)"), said);
    auto endless =
        search_experiment(R"({"procedure": "random", "trials": 3, "subject_to": {"state_mb": {"below": 1}}})",
                          R"({"train.optimizer.lr": {"type": "float", "low": 0, "high": 1}, "model.width": [1]})");
    EXPECT_THROW(make_search(endless, {{}, product})->next(), ConfigError);
}

TEST(Constraints, ThePlanLeavesThemOutToo) {
    EXPECT_EQ(plan_of(experiment_of(R"("procedure": "grid")"), {{}, product}).trials, 5);
    EXPECT_EQ(plan_of(experiment_of(R"("procedure": "successive_halving", "trials": 9)"), {{}, product}).bound(),
              SearchPlan::Bound::at_most);
}

}  // namespace constraints_test
}  // namespace hopscotch
