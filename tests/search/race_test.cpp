// SPDX-License-Identifier: Apache-2.0
#include "search/race.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "every_procedure.hpp"
#include "fake_director.hpp"
#include "search/plan.hpp"

namespace hopscotch {
namespace race_test {

using Indices = std::vector<std::size_t>;
using State = FakeDirector::State;

// scipy.stats.t.ppf
TEST(Race, StudentsQuantiles) {
    EXPECT_NEAR(student_quantile(0.95, 1), 6.313751514675037, 1e-12);
    EXPECT_NEAR(student_quantile(0.95, 2), 2.9199855803537242, 1e-12);
    EXPECT_NEAR(student_quantile(0.95, 3), 2.3533634348018233, 2e-5);
    EXPECT_NEAR(student_quantile(0.95, 4), 2.1318467863266495, 1e-6);
    EXPECT_NEAR(student_quantile(0.95, 5), 2.0150483733330233, 1e-6);
    EXPECT_NEAR(student_quantile(0.95, 10), 1.8124611228116756, 1e-8);
    EXPECT_NEAR(student_quantile(0.95, 30), 1.697260886593957, 1e-8);
    EXPECT_NEAR(student_quantile(0.95, 200), 1.6525081009108769, 1e-8);
    EXPECT_NEAR(student_quantile(0.99, 12), 2.6809979931209145, 1e-7);
    EXPECT_NEAR(student_quantile(0.975, 7), 2.364624251592784, 1e-6);
}

TEST(Race, TheBestFewTellTheNoise) {
    EXPECT_EQ(racers({{7}, {1}, {2}, {9}, {3}, {4}, {8}, {5}}, 3), (Indices{1, 2, 4, 5, 7}));
    EXPECT_EQ(racers({{7}, {1}}, 3), (Indices{1, 0})) << "the best first";
    EXPECT_EQ(racers({{1}, {1}, {1}, {1}, {1}, {1}}, 3), (Indices{0, 1, 2, 3, 4})) << "of equals the first";
    EXPECT_EQ(racers({{7}}, 3), Indices{0});
    EXPECT_EQ(racers({{7, 8, 9}}, 3), Indices{});
    EXPECT_EQ(racers({}, 3), Indices{});
}

TEST(Race, WhoIsWorseThanTheNoiseIsLeft) {
    // The noise of a copy is 0.05, with one degree of freedom: differences of 0.45 are told.
    EXPECT_EQ(racers({{1.0, 1.1}, {1.2, 1.2}, {1.4}, {1.5}, {9}}, 3), (Indices{0, 1, 2}));
    // No noise: equals remain.
    EXPECT_EQ(racers({{1, 1}, {1, 1}, {2, 2}, {1}, {1.001}}, 3), (Indices{0, 1, 3}));
    // All copies are there.
    EXPECT_EQ(racers({{1.0, 1.1}, {1.2, 1.2}, {9}}, 2), Indices{});
}

// Copy 1 is hard for all: this is not noise, and who has not had it is not better.
TEST(Race, WhatAllCopiesShareIsNotNoise) {
    std::vector<CopyLosses> const losses{{0.10, 5.11}, {0.20, 5.19}, {0.30, 5.31}, {0.12}, {0.9}};
    EXPECT_EQ(racers(losses, 2), Indices{3}) << "0.02 worse than the best, and the noise is 0.01";
    std::vector<CopyLosses> const easy{{5.10, 0.11}, {5.20, 0.19}, {5.30, 0.31}, {5.12}, {5.9}};
    EXPECT_EQ(racers(easy, 3), (Indices{0, 3}));
}

TEST(Race, MeansAreThoseOfAllCopies) {
    EXPECT_EQ(race_means({{1, 3}, {2, 4}, {5, 7}}), (std::vector<double>{2, 3, 6}));
    EXPECT_EQ(race_means({{1, 3}, {2, 4}, {5}}), (std::vector<double>{2, 3, 6})) << "copy 1 adds two";
    EXPECT_EQ(race_means({{3}, {2}}), (std::vector<double>{3, 2}));
    EXPECT_EQ(race_means({}), std::vector<double>());
}

// Of a configuration, and what its copies have of their own.
struct World {
    double noise = 0.1;
    int failing = -1;  // this copy of the configurations with the least rate fails
    double share = 0;  // of all copies fail
};

double value_of_configuration(Assignment const& assignment) {
    return assignment[0].second.number() + static_cast<double>(assignment[1].second.integer()) / 1000;
}

std::string name_of_configuration(Assignment const& assignment) {
    return to_json(Assignment{assignment[0], assignment[1]}).dump();
}

std::optional<double> loss_of(World const& world, FakeDirector::Trial const& trial, int epochs) {
    auto const name = name_of_configuration(trial.assignment);
    auto const copy = trial.assignment.size() > 2 ? trial.assignment[2].second.integer() : 0;
    if (copy == world.failing && trial.assignment[0].second.number() == 0.1) return std::nullopt;
    auto const key = static_cast<std::int64_t>(std::hash<std::string>()(name) >> 1);
    if (Rng(stream_key(6, Purpose::synthetic, {key, copy})).uniform() < world.share) return std::nullopt;
    double const own = Rng(stream_key(5, Purpose::synthetic, {key, copy})).normal();
    return value_of_configuration(trial.assignment) + world.noise * own + 0.3 / epochs;
}

struct Raced {
    std::map<std::string, std::vector<std::int64_t>> copies;  // of each configuration
    std::vector<FakeDirector::Trial> trials;
    std::int64_t epochs = 0;
};

Experiment experiment_of(std::string const& keys) {
    return search_experiment("{" + keys + R"(, "race": true})",
                             R"({"train.optimizer.lr": [0.1, 0.2, 0.4, 0.8, 1.6], "train.batch_size": [16, 32, 64]})",
                             R"({"epochs": 4})");
}

Raced raced(std::string const& keys, World const& world, std::size_t in_flight, std::uint64_t seed) {
    auto const experiment = experiment_of(keys);
    auto const search = make_search(experiment);
    EXPECT_FALSE(search->decides_nothing());
    FakeDirector director(
        *search, in_flight,
        [&](TrialId, FakeDirector::Trial const& trial, int epochs) { return loss_of(world, trial, epochs); }, seed);
    EXPECT_TRUE(director.run());
    Raced out{{}, director.trials()};
    for (auto const& trial : out.trials) {
        out.copies[name_of_configuration(trial.assignment)].push_back(trial.assignment[2].second.integer());
        out.epochs += trial.epochs;
    }
    return out;
}

TEST(Race, TheSameCopiesInAnyOrder) {
    std::string const grid = R"("procedure": "grid", "repeats": 6)";
    auto const first = raced(grid, {}, 1, 0);
    EXPECT_LT(first.trials.size(), 60U) << "of 90";
    EXPECT_EQ(first.copies.size(), 15U);
    std::size_t most = 0;
    for (auto const& [name, copies] : first.copies) {
        for (std::size_t i = 0; i < copies.size(); ++i) EXPECT_EQ(copies[i], static_cast<std::int64_t>(i));
        most = std::max(most, copies.size());
    }
    EXPECT_EQ(most, 6U) << "the best one has all its copies";
    auto const broken = raced(grid, {.share = 0.2}, 1, 0);
    for (std::uint64_t seed = 1; seed < 40; ++seed) {
        EXPECT_EQ(raced(grid, {}, 1 + seed % 9, seed).copies, first.copies);
        EXPECT_EQ(raced(grid, {.share = 0.2}, 1 + seed % 9, seed).copies, broken.copies);
    }
    for (auto const& trial : first.trials) EXPECT_EQ(trial.epochs, 4);
}

TEST(Race, MoreNoiseMoreCopies) {
    std::string const grid = R"("procedure": "grid", "repeats": 6)";
    auto const quiet = raced(grid, {0.001}, 3, 1).trials.size(), loud = raced(grid, {3}, 3, 1).trials.size();
    EXPECT_LE(quiet, 15U + 5 + 4) << "five second copies, then the best one's others";
    EXPECT_GT(loud, 60U);
}

TEST(Race, ACopyThatFailsEndsItsConfiguration) {
    for (int failing = 0; failing < 4; ++failing) {
        auto const played = raced(R"("procedure": "grid", "repeats": 6)", {0.001, failing}, 2, 3);
        for (auto const* batch : {"16", "32", "64"}) {
            auto const name = fmt::format(R"({{"train.optimizer.lr":0.1,"train.batch_size":{}}})", batch);
            auto const& copies = played.copies.at(name);
            EXPECT_LE(std::ssize(copies), failing + 1);
        }
        auto const& next = played.copies.at(R"({"train.optimizer.lr":0.2,"train.batch_size":16})");
        EXPECT_EQ(next.size(), 6U) << "the best of those that have not failed";
    }
}

TEST(Race, TheBudgetOfEpochsIsOfAllTrials) {
    for (int const budget : {60, 61, 65, 99, 130}) {
        auto const keys = fmt::format(R"("procedure": "grid", "repeats": 6, "budget": {{"epochs": {}}})", budget);
        auto const played = raced(keys, {3}, 4, 7);
        EXPECT_GE(played.epochs, budget);
        EXPECT_LT(played.epochs, budget + 4) << "a trial that has begun trains to its end";
        std::vector<std::pair<double, std::size_t>> first_losses;  // of the configurations; their copies
        for (auto const& trial : played.trials)
            if (trial.assignment[2].second.integer() == 0)
                first_losses.emplace_back(trial.losses.back(),
                                          played.copies.at(name_of_configuration(trial.assignment)).size());
        auto const further = played.trials.size() - 15;
        std::ranges::sort(first_losses);
        if (further > 4) continue;
        for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(first_losses[i].second, i < further ? 2U : 1U) << "the best first";
    }
}

// A rule sees the first copies, and those that it has trained to the end race.
TEST(Race, AfterARule) {
    for (auto const& row : procedure_traits()) {
        if (!draws(row) || row.clones) continue;
        if (sampler_traits(row.samplers.front()).needs_numbers) continue;  // the space has lists only
        if (sampler_traits(row.samplers.front()).needs_numbers) continue;  // the space has lists only
        auto const keys = named(row) + R"(, "repeats": 3)" + (has_key(row, "trials") ? R"(, "trials": 14)" : "");
        SCOPED_TRACE(keys);
        for (std::uint64_t seed = 0; seed < 12; ++seed) {
            auto const played = raced(keys, {0.2}, 1 + seed % 6, seed);
            std::size_t most = 0;
            for (auto const& [name, copies] : played.copies) most = std::max(most, copies.size());
            EXPECT_EQ(most, 3U);
            for (auto const& trial : played.trials) {
                if (trial.assignment[2].second.integer() > 0) {
                    EXPECT_EQ(trial.epochs, 4);
                    EXPECT_EQ(trial.state, State::finished);
                }
            }
        }
    }
}

TEST(Race, ThePlanHasItsBounds) {
    auto const plan = plan_of(experiment_of(R"("procedure": "random", "trials": 8, "repeats": 3)"));
    EXPECT_EQ(
        text_of(plan),
        "8 configurations, once each, and up to 3 times while they may be the best: at most 24 trials, between 40 and 96 "
        "epochs in all\n");
    auto const played = raced(R"("procedure": "random", "trials": 8, "repeats": 3)", {0.2}, 2, 1);
    EXPECT_GE(played.epochs, plan.least);
    EXPECT_LE(played.epochs, plan.most);
    std::string const paid = R"("procedure": "random", "trials": 8, "repeats": 3, "budget": {"epochs": 50})";
    auto const bounded = plan_of(experiment_of(paid));
    auto const spent = raced(paid, {3}, 2, 1);
    EXPECT_GE(spent.epochs, bounded.least);
    EXPECT_LE(spent.epochs, bounded.most);
    EXPECT_LT(bounded.most, plan.most);
}

}  // namespace race_test
}  // namespace hopscotch
