// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "experiment/measures.hpp"
#include "fake_director.hpp"
#include "search/front.hpp"

namespace hopscotch {
namespace nsga2_test {

std::string const k_space = R"({"train.optimizer.lr": {"type": "float", "low": 0, "high": 1},
                                "train.optimizer.momentum": {"type": "float", "low": 0.1, "high": 0.9},
                                "model.name": ["a", "b", "c"]})";

double at(Assignment const& assignment, std::string_view path) { return value_of(assignment, path)->number(); }

struct World {
    std::vector<FakeDirector::Trial> trials;
    std::vector<Losses> losses;
};

// Two losses: near lr 0.2 with b, and near lr 0.4 with b; both want momentum 0.5.
World searched(std::string const& sampler, std::uint64_t seed, std::size_t trials) {
    auto const experiment = search_experiment(R"({"procedure": ")" + sampler + R"(", "trials": )" + std::to_string(trials) +
                                                  R"(, "objectives": ["val_loss", "parameters"]})",
                                              k_space, R"({"epochs": 1})", std::to_string(seed));
    auto const loss = [](Assignment const& each, double best) {
        double const letter = value_of(each, "model.name")->string() == "b" ? 0 : 1;
        return std::abs(at(each, "train.optimizer.lr") - best) + letter +
               std::abs(at(each, "train.optimizer.momentum") - 0.5);
    };
    SearchContext context;
    context.measure = [&](Assignment const& each) { return Measures{loss(each, 0.4), 1, 1}; };
    auto const search = make_search(experiment, context);
    FakeDirector director(
        *search, 4, [&](TrialId, FakeDirector::Trial const& trial, int) { return loss(trial.assignment, 0.2); }, seed, 1);
    EXPECT_TRUE(director.run());
    World out{director.trials(), {}};
    for (auto const& trial : out.trials) out.losses.push_back({loss(trial.assignment, 0.2), loss(trial.assignment, 0.4)});
    return out;
}

TEST(Nsga2, CoversMoreThanRandom) {
    double found = 0, by_chance = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        found += hypervolume(searched("nsga2", seed, 200).losses, {2, 2, 1});
        by_chance += hypervolume(searched("random", seed, 200).losses, {2, 2, 1});
    }
    EXPECT_GT(found, by_chance + 0.3) << "of 10 searches together";
}

// Values of two parents, or new ones: most of the later trials share values with earlier ones, none is tried twice.
TEST(Nsga2, TakesItsValuesFromEarlierTrials) {
    auto const world = searched("nsga2", 3, 120);
    std::set<double> rates;
    std::set<std::string> seen;
    std::size_t first = 0, later = 0;
    for (std::size_t i = 0; i < world.trials.size(); ++i) {
        auto const& assignment = world.trials[i].assignment;
        bool const taken = !rates.insert(at(assignment, "train.optimizer.lr")).second;
        (i < 20 ? first : later) += taken ? 1U : 0U;
        EXPECT_TRUE(seen.insert(to_json(assignment).dump()).second) << i;
    }
    EXPECT_EQ(first, 0U) << "random";
    EXPECT_GT(later, 40U);
    EXPECT_LT(later, 95U) << "one value in three is drawn anew";
}

// Half of all trials fail. Their values are never inherited.
TEST(Nsga2, FailedTrialsAreNoParents) {
    auto const experiment =
        search_experiment(R"({"procedure": "nsga2", "trials": 150, "parents": 20})", k_space, R"({"epochs": 1})", "5");
    auto const search = make_search(experiment);
    auto const fails = [](Assignment const& each) { return at(each, "train.optimizer.lr") > 0.5; };
    FakeDirector director(
        *search, 4,
        [&](TrialId, FakeDirector::Trial const& trial, int) {
            return fails(trial.assignment) ? std::nullopt : std::optional(at(trial.assignment, "train.optimizer.lr"));
        },
        5);
    ASSERT_TRUE(director.run());
    std::set<double> of_failed;
    std::size_t failed = 0;
    for (auto const& trial : director.trials()) {
        double const rate = at(trial.assignment, "train.optimizer.lr");
        EXPECT_FALSE(of_failed.contains(rate)) << rate;
        if (fails(trial.assignment)) of_failed.insert(rate), ++failed;
    }
    EXPECT_GT(failed, 10U);
}

}  // namespace nsga2_test
}  // namespace hopscotch
