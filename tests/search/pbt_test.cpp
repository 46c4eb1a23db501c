// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "fake_director.hpp"
#include "search/pbt.hpp"

namespace hopscotch {
namespace pbt_test {

TEST(Pbt, QuantileSizes) {
    std::vector<std::size_t> quarter;
    for (std::size_t n : {1U, 2U, 3U, 4U, 5U, 8U, 10U}) quarter.push_back(quantile_size(n, 0.25));
    EXPECT_EQ(quarter, (std::vector<std::size_t>{0, 1, 1, 1, 2, 2, 3}));
    EXPECT_EQ(quantile_size(3, 0.5), 1U);
    EXPECT_EQ(quantile_size(5, 0.5), 2U);
    EXPECT_EQ(quantile_size(10, 0), 0U) << "not everybody";
    EXPECT_EQ(quantile_size(10, 0.3), 3U) << "10 x 0.3 is a hair more than 3";
}

class Explore : public ::testing::Test {
protected:
    Assignment step(std::string const& space, std::string const& from, PbtConfig const& config) {
        Problems problems("");
        return explored(space_from(space), assignment_from_json(parse_json(from, problems)), config,
                        [&] { return rng_.uniform(); });
    }
    // Every value that comes in a hundred steps.
    std::set<std::string> values(std::string const& parameter, std::string const& from) {
        std::set<std::string> out;
        for (int i = 0; i < 100; ++i)
            out.insert(step("{\"x\": " + parameter + "}", "{\"x\": " + from + "}", no_resampling_)[0].second.dump());
        return out;
    }

    Rng rng_{7};
    PbtConfig no_resampling_ = [] {
        PbtConfig out;
        out.resample = 0;
        return out;
    }();
};

using Values = std::set<std::string>;

TEST_F(Explore, MultipliesAndClips) {
    EXPECT_EQ(values(R"({"type": "float", "low": 0.0, "high": 10})", "1.0"), (Values{"0.8", "1.2"}));
    EXPECT_EQ(values(R"({"type": "float", "low": 0.9, "high": 1.125})", "1.0"), (Values{"0.9", "1.125"}));
    EXPECT_EQ(values(R"({"type": "float", "low": 1e-5, "high": 0.1, "log": true})", "0.1"),
              (Values{"0.08000000000000002", "0.1"}));
}

TEST_F(Explore, IntegersAndStepsMoveByOneAtLeast) {
    EXPECT_EQ(values(R"({"type": "int", "low": 1, "high": 8})", "2"), (Values{"1", "3"}));
    EXPECT_EQ(values(R"({"type": "int", "low": 1, "high": 8})", "1"), (Values{"1", "2"})) << "not 0";
    EXPECT_EQ(values(R"({"type": "int", "low": 0, "high": 100})", "50"), (Values{"40", "60"}));
    EXPECT_EQ(values(R"({"type": "int", "low": 32, "high": 256, "step": 32})", "64"), (Values{"32", "96"}));
    EXPECT_EQ(values(R"({"type": "int", "low": 1, "high": 3, "log": true})", "3"), (Values{"2", "3"}));
    EXPECT_EQ(values(R"({"type": "float", "low": 0, "high": 1, "step": 0.25})", "0.25"), (Values{"0.0", "0.5"}));
}

TEST_F(Explore, ListsGoToANeighbour) {
    EXPECT_EQ(values("[16, 32, 64, 128]", "32"), (Values{"16", "64"}));
    EXPECT_EQ(values("[16, 32, 64, 128]", "16"), (Values{"16", "32"}));
    EXPECT_EQ(values("[16, 32, 64, 128]", "128"), (Values{"128", "64"}));
    EXPECT_EQ(values("7", "7"), (Values{"7"}));
}

TEST_F(Explore, ChildrenFollowTheirParents) {
    std::string const space = R"({"a": ["p", "q"], "b": {"type": "float", "low": 1, "high": 2, "when": {"a": "p"}},
                                  "c": {"type": "float", "low": 3, "high": 4, "when": {"a": "q"}}})";
    int changed = 0;
    for (int i = 0; i < 200; ++i) {
        auto const next = step(space, R"({"a": "p", "b": 1.5})", no_resampling_);
        ASSERT_EQ(next.size(), 2U);
        bool const still = next[0].second.string() == "p";
        EXPECT_EQ(next[1].first, still ? "b" : "c");
        if (still) {
            EXPECT_NEAR(std::abs(next[1].second.number() - 1.5), 0.3, 1e-12);
        } else {
            ++changed;
            EXPECT_TRUE(next[1].second.number() >= 3 && next[1].second.number() <= 4);
        }
    }
    EXPECT_GT(changed, 50);
}

TEST_F(Explore, ResamplesAsOftenAsItShould) {
    int anew = 0;
    for (int i = 0; i < 10'000; ++i) {
        double const x = step(R"({"x": {"type": "float", "low": 0, "high": 10}})", R"({"x": 1.0})", {})[0].second.number();
        anew += x != 0.8 && x != 1.2 ? 1 : 0;
    }
    EXPECT_NEAR(anew, 2500, 3 * std::sqrt(10'000 * 0.25 * 0.75));
}

std::string const k_rates = R"({"train.optimizer.lr": {"type": "float", "low": 0.0001, "high": 1, "log": true}})";
std::string const k_eight = R"({"procedure": "pbt", "population": 8, "interval": 2})";

TEST(Pbt, TheWorstTakeOverTheBest) {
    auto const search = make_search(search_experiment(k_eight, k_rates, R"({"epochs": 20})"));
    EXPECT_TRUE(search->clones());
    EXPECT_FALSE(search->decides_nothing());
    std::vector<Proposal> population;
    while (auto next = search->next()) population.push_back(*next);
    ASSERT_EQ(population.size(), 8U);
    EXPECT_TRUE(search->finished()) << "no one else starts";
    auto const report = [&](int trial, int epoch, std::optional<double> loss) {
        return search->report({population[static_cast<std::size_t>(trial)].trial, epoch, loss});
    };
    for (int i = 0; i < 7; ++i) {
        EXPECT_EQ(population[static_cast<std::size_t>(i)].until_epoch, 2);
        EXPECT_EQ(report(i, 0, i).kind, Verdict::Kind::go_on);
    }
    // Trial 7 comes last of seven: trial 6 was not, when it came, among those who had a score.
    EXPECT_EQ(report(7, 0, 7).kind, Verdict::Kind::go_on) << "no decision point";
    auto const verdict = report(7, 1, 7);
    ASSERT_EQ(verdict.kind, Verdict::Kind::clone);
    EXPECT_TRUE(verdict.source == TrialId(0) || verdict.source == TrialId(1));
    EXPECT_EQ(verdict.source_epoch, 0);
    EXPECT_EQ(verdict.until_epoch, 4);
    EXPECT_EQ(verdict.assignment.size(), 1U);
    EXPECT_TRUE(verdict.why.starts_with("epoch 2: rank 8 of 8, takes over trial ")) << verdict.why;
    EXPECT_EQ(report(0, 1, 0).kind, Verdict::Kind::go_on);
    // Until it has a score of the new state it is neither donor nor ranked: seven are left, two of them the worst.
    auto const next = report(5, 1, 5);
    EXPECT_EQ(next.kind, Verdict::Kind::clone);
    EXPECT_TRUE(next.why.starts_with("epoch 2: rank 6 of 7")) << next.why;
}

TEST(Pbt, FailuresAreNeitherDonorsNorWaitedFor) {
    auto const experiment = search_experiment(k_eight, k_rates, R"({"epochs": 20})");
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        auto const search = make_search(experiment);
        Rng rng(seed);
        FakeDirector director(
            *search, 8,
            [&](TrialId, FakeDirector::Trial const& trial, int epochs) -> std::optional<double> {
                if (rng.uniform() < 0.03) return std::nullopt;
                return std::abs(std::log10(trial.assignment[0].second.number()) + 2) + 1.0 / epochs;
            },
            seed);
        ASSERT_TRUE(director.run());
        EXPECT_EQ(director.trials().size(), 8U);
        for (auto const& trial : director.trials())
            EXPECT_TRUE(trial.state == FakeDirector::State::failed || trial.epochs == 20);
    }
}

TEST(Pbt, FindsBetterRatesThanItStartsWith) {
    auto const experiment = search_experiment(k_eight, k_rates, R"({"epochs": 60})");
    auto const distance = [](Assignment const& assignment) {
        return std::abs(std::log10(assignment[0].second.number()) + 2.3);
    };
    auto const search = make_search(experiment);
    std::vector<double> first(8, -1);
    FakeDirector director(
        *search, 8,
        [&](TrialId id, FakeDirector::Trial const& trial, int) {
            if (first[id.index()] < 0) first[id.index()] = distance(trial.assignment);
            return std::optional(distance(trial.assignment));
        },
        3);
    ASSERT_TRUE(director.run());
    EXPECT_GT(director.clones(), 10U);
    double before = 0, after = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        before += first[i];
        after += distance(director.trials()[i].assignment);
    }
    EXPECT_LT(after, before / 3);
}

TEST(Pbt, OneIsNoPopulation) {
    auto const search =
        make_search(search_experiment(R"({"procedure": "pbt", "population": 1})", k_rates, R"({"epochs": 5})"));
    FakeDirector director(*search, 8, [](TrialId, auto const&, int) { return std::optional(1.0); }, 1);
    ASSERT_TRUE(director.run());
    EXPECT_EQ(director.trials()[0].epochs, 5);
    EXPECT_EQ(director.clones(), 0U);
}

}  // namespace pbt_test
}  // namespace hopscotch
