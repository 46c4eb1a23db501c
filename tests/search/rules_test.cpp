// SPDX-License-Identifier: Apache-2.0
// Who goes on: tables and traces of the papers and of other systems (numbers computed with those systems).
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "experiment/measures.hpp"
#include "fake_director.hpp"
#include "search/front.hpp"
#include "search/rungs.hpp"

namespace hopscotch {
namespace rules_test {

using State = FakeDirector::State;
std::string const k_unit = R"({"train.optimizer.lr": {"type": "float", "low": 0, "high": 1}})";
std::string train_for(int epochs) { return "{\"epochs\": " + std::to_string(epochs) + "}"; }

using Table = std::vector<std::vector<Rung>>;

TEST(Hyperband, TablesOfThePaper) {
    EXPECT_EQ(hyperband_table({3, 1, 81}), (Table{{{81, 1}, {27, 3}, {9, 9}, {3, 27}, {1, 81}},
                                                  {{34, 3}, {11, 9}, {3, 27}, {1, 81}},
                                                  {{15, 9}, {5, 27}, {1, 81}},
                                                  {{8, 27}, {2, 81}},
                                                  {{5, 81}}}));
    EXPECT_EQ(hyperband_table({3, 1, 27}),
              (Table{{{27, 1}, {9, 3}, {3, 9}, {1, 27}}, {{12, 3}, {4, 9}, {1, 27}}, {{6, 9}, {2, 27}}, {{4, 27}}}));
    EXPECT_EQ(hyperband_table({4, 1, 16}), (Table{{{16, 1}, {4, 4}, {1, 16}}, {{6, 4}, {1, 16}}, {{3, 16}}}));
    auto const sizes = [](Halving const& halving) {
        std::vector<std::int64_t> out;
        for (auto const& bracket : hyperband_table(halving)) out.push_back(bracket.front().trials);
        return out;
    };
    EXPECT_EQ(sizes({2, 1, 16}), (std::vector<std::int64_t>{16, 10, 7, 5, 5}));
    // Logarithms in floating point lose a bracket here.
    EXPECT_EQ(sizes({3, 1, 243}), (std::vector<std::int64_t>{243, 98, 41, 18, 9, 6}));
    EXPECT_EQ(sizes({10, 1, 1000}), (std::vector<std::int64_t>{1000, 134, 20, 4}));
    EXPECT_EQ(most_halvings({6, 1, 216}), 3);
    std::vector<std::int64_t> epochs;
    for (auto const& bracket : hyperband_table({3, 1, 81})) epochs.push_back(epochs_of(bracket));
    EXPECT_EQ(epochs, (std::vector<std::int64_t>{297, 276, 279, 324, 405}));
}

TEST(Hyperband, EpochsThatAreNoPowers) {
    EXPECT_EQ(hyperband_table({3, 1, 100}).front(), (std::vector<Rung>{{81, 1}, {27, 3}, {9, 11}, {3, 33}, {1, 100}}));
    EXPECT_EQ(hyperband_table({3, 2, 10}).front(), (std::vector<Rung>{{3, 3}, {1, 10}}));
    EXPECT_EQ(hyperband_table({3, 1, 1}), (Table{{{1, 1}}}));
    EXPECT_EQ(asha_rungs({3, 1, 9}), (std::vector<int>{1, 3, 9}));
    EXPECT_EQ(asha_rungs({2, 1, 10}), (std::vector<int>{1, 2, 4, 8, 10}));
    EXPECT_EQ(asha_rungs({3, 100, 900}), (std::vector<int>{100, 300, 900}));
    EXPECT_EQ(asha_rungs({3, 4, 4}), (std::vector<int>{4}));
    EXPECT_EQ(halving_bracket(4, {3, 1, 81}), (std::vector<Rung>{{4, 1}, {1, 81}}));
    EXPECT_EQ(halving_bracket(20, {3, 1, 9}), (std::vector<Rung>{{20, 1}, {6, 3}, {2, 9}}));
}

// A trial's loss is its id's place in a fixed shuffle, whatever its epochs: the best are known.
FakeDirector::Loss fixed_losses(std::vector<double> losses) {
    return [losses](TrialId id, auto const&, int) -> std::optional<double> {
        double const loss = losses.at(id.index());
        return std::isnan(loss) ? std::nullopt : std::optional(loss);
    };
}

TEST(Hyperband, EveryBracketKeepsItsBest) {
    auto const experiment = search_experiment(R"({"procedure": "hyperband"})", k_unit, train_for(27));
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        auto const search = make_search(experiment);
        // Ids are shared out in the order of the proposals, so the brackets are where the arrival order puts them.
        std::vector<double> losses(49);
        std::iota(losses.begin(), losses.end(), 0.0);
        Rng(seed).shuffle(std::span(losses));
        FakeDirector director(*search, 1 + seed % 7, fixed_losses(losses), seed);
        ASSERT_TRUE(director.run());
        ASSERT_EQ(director.trials().size(), 49U);
        EXPECT_EQ(director.count_at(27), 1U + 1 + 2 + 4);
        EXPECT_EQ(director.count_at(9), 3U + 4 + 6 + 4);
        EXPECT_EQ(director.count_at(3), 9U + 12 + 6 + 4);
        auto const best = std::min_element(losses.begin(), losses.end()) - losses.begin();
        EXPECT_EQ(director.trials()[static_cast<std::size_t>(best)].epochs, 27) << "the best of all went all the way";
        std::int64_t epochs = 0;
        for (auto const& trial : director.trials()) epochs += trial.epochs;
        EXPECT_EQ(epochs, 357);
    }
}

TEST(Hyperband, IterationsUntilTheTrialsAreUsedUp) {
    auto const search = make_search(search_experiment(R"({"procedure": "hyperband", "trials": 60})", k_unit, train_for(27)));
    FakeDirector director(*search, 8, [](TrialId id, auto const&, int) { return std::optional<double>(id.value); }, 1);
    ASSERT_TRUE(director.run());
    EXPECT_EQ(director.trials().size(), 60U);
    EXPECT_EQ(director.count_at(27), 8U + 1) << "the eleven of the second iteration leave one";
}

TEST(SuccessiveHalving, FailuresRankLastAndBlockNothing) {
    auto const experiment = search_experiment(R"({"procedure": "successive_halving", "trials": 9})", k_unit, train_for(9));
    double const bad = NAN;
    struct Case {
        std::vector<double> losses;
        std::size_t second, third;
    };
    for (auto const& [losses, second, third] :
         {Case{{1, 2, 3, 4, 5, 6, 7, 8, 9}, 3, 1}, Case{{bad, bad, bad, 4, 5, 6, 7, 8, 9}, 3, 1},
          Case{{bad, bad, bad, bad, bad, bad, bad, 8, 9}, 2, 1}, Case{std::vector<double>(9, bad), 0, 0}}) {
        auto const search = make_search(experiment);
        FakeDirector director(*search, 4, fixed_losses(losses), 3);
        ASSERT_TRUE(director.run());
        EXPECT_EQ(director.count_at(3), second);
        EXPECT_EQ(director.count_at(9), third);
    }
    // Equals: the lower id.
    auto const search = make_search(experiment);
    FakeDirector director(*search, 9, fixed_losses(std::vector<double>(9, 0.5)), 5);
    ASSERT_TRUE(director.run());
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(director.trials()[i].epochs, i == 0 ? 9 : i < 3 ? 3 : 1);
}

TEST(SuccessiveHalving, SaysWhy) {
    auto const search =
        make_search(search_experiment(R"({"procedure": "successive_halving", "trials": 9})", k_unit, train_for(9)));
    FakeDirector director(*search, 1, fixed_losses({1, 2, 3, 4, 5, 6, 7, 8, 9}), 3);
    ASSERT_TRUE(director.run());
    EXPECT_EQ(director.trials()[2].why, "rung 1 (3 epochs): rank 3 of 3 so far, 1 of 3 go on");
    EXPECT_EQ(director.trials()[8].why, "rung 0 (1 epoch): rank 9 of 9 so far, 3 of 9 go on");
    EXPECT_EQ(director.trials()[8].state, State::stopped) << "it can never be among the best three";
    EXPECT_EQ(director.trials()[0].state, State::finished);
}

// One worker, 12 trials, rungs 1, 3, 9: Algorithm 2 of the paper.
TEST(Asha, PromotionTrace) {
    std::map<int, std::map<int, double>> const losses{{0, {{1, .50}, {3, .30}, {9, .25}}},
                                                      {1, {{1, .40}, {3, .35}, {9, .33}}},
                                                      {2, {{1, .60}}},
                                                      {3, {{1, .40}, {3, .28}, {9, .20}}},
                                                      {4, {{1, .30}, {3, .29}, {9, .28}}},
                                                      {5, {{1, .70}}},
                                                      {6, {{1, .35}, {3, .34}, {9, .34}}},
                                                      {8, {{1, .20}, {3, .15}, {9, .10}}},
                                                      {9, {{1, .45}}},
                                                      {10, {{1, .55}}},
                                                      {11, {{1, .44}}}};
    auto const search =
        make_search(search_experiment(R"({"procedure": "asha", "min_epochs": 1, "trials": 12})", k_unit, train_for(9)));
    FakeDirector director(
        *search, 1,
        [&](TrialId id, auto const&, int epochs) -> std::optional<double> {
            if (id.value == 7) return std::nullopt;
            auto const found = losses.at(id.value).find(epochs);
            return found != losses.at(id.value).end() ? found->second : 100;  // between the rungs no one looks
        },
        1);
    ASSERT_TRUE(director.run());
    EXPECT_EQ(director.log(), (std::vector<std::string>{"new 0", "new 1", "new 2", "1 -> 3", "new 3", "new 4", "4 -> 3",
                                                        "new 5", "new 6", "6 -> 3", "4 -> 9", "new 7", "new 8", "8 -> 3",
                                                        "8 -> 9", "new 9", "new 10", "new 11"}));
}

// .50 .40 .60 .40 .30 .70 .35 NaN .20 at rung 0: Optuna's and Determined's decisions.
TEST(Asha, StoppingTrace) {
    auto const search = make_search(search_experiment(
        R"({"procedure": "asha", "min_epochs": 1, "variant": "stop", "trials": 9})", k_unit, train_for(9)));
    std::string decisions;
    for (double loss : {.50, .40, .60, .40, .30, .70, .35, double(NAN), .20}) {
        auto const trial = search->next()->trial;
        auto const verdict = search->report({trial, 0, std::isnan(loss) ? std::nullopt : std::optional(loss)});
        decisions += verdict.kind == Verdict::Kind::stop ? 'S' : 'C';
        if (decisions.back() == 'C') {
            EXPECT_EQ(verdict.until_epoch, 3);
        }
    }
    EXPECT_EQ(decisions, "CCSCCSCSC");
    EXPECT_FALSE(search->next());
    EXPECT_TRUE(search->finished());
}

TEST(Asha, EveryPromotionIsAmongTheBestOfItsRung) {
    auto const experiment =
        search_experiment(R"({"procedure": "asha", "min_epochs": 1, "trials": 80})", k_unit, train_for(27));
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        Rng rng(seed);
        std::vector<double> losses(80);
        for (auto& loss : losses) loss = std::floor(rng.uniform() * 20);  // with ties
        auto const search = make_search(experiment);
        FakeDirector director(*search, 6, fixed_losses(losses), seed);
        ASSERT_TRUE(director.run());
        // In the end the best third of rung 0 has been promoted, and perhaps some that were among the best for a while.
        std::vector<std::pair<double, std::size_t>> order;
        for (std::size_t i = 0; i < 80; ++i) order.emplace_back(losses[i], i);
        std::sort(order.begin(), order.end());
        for (std::size_t place = 0; place < 26; ++place) EXPECT_GE(director.trials()[order[place].second].epochs, 3);
        for (auto const& trial : director.trials())
            EXPECT_TRUE(trial.epochs == 1 || trial.epochs == 3 || trial.epochs == 9 || trial.epochs == 27);
    }
}

// The loss of a trial, and a size that its configuration has.
struct Traded {
    std::vector<double> losses;
    SearchContext context;
    std::vector<Point> points(std::vector<FakeDirector::Trial> const& trials) const {
        std::vector<Point> out;
        for (std::size_t i = 0; i < trials.size(); ++i)
            out.push_back({{losses[i], context.measure(trials[i].assignment).parameters}});
        return out;
    }
};

Traded traded(std::size_t trials, std::uint64_t seed) {
    Traded out;
    Rng rng(seed);
    for (std::size_t i = 0; i < trials; ++i) out.losses.push_back(std::floor(rng.uniform() * 20));  // with ties
    out.context.measure = [](Assignment const& each) { return Measures{std::floor(20 * each[0].second.number()), 1, 1}; };
    return out;
}

TEST(SuccessiveHalving, OfTwoObjectivesTheFirstByRankGoOn) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        auto const world = traded(27, seed);
        auto const search =
            make_search(search_experiment(
                            R"({"procedure": "successive_halving", "trials": 27, "objectives": ["val_loss", "parameters"]})",
                            k_unit, train_for(9), std::to_string(seed)),
                        world.context);
        FakeDirector director(*search, 1 + seed % 9, fixed_losses(world.losses), seed, 1);
        ASSERT_TRUE(director.run());
        auto const order = by_rank(world.points(director.trials()));
        for (std::size_t place = 0; place < 27; ++place)
            EXPECT_EQ(director.trials()[order[place]].epochs > 1, place < 9) << "seed " << seed << " place " << place;
    }
}

TEST(Asha, OfTwoObjectivesTheFirstByRankGoOn) {
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        auto const world = traded(60, seed);
        auto const search = make_search(search_experiment(R"({"procedure": "asha", "min_epochs": 1, "trials": 60,
                                              "objectives": ["val_loss", "parameters"]})",
                                                          k_unit, train_for(27), std::to_string(seed)),
                                        world.context);
        FakeDirector director(*search, 6, fixed_losses(world.losses), seed, 1);
        ASSERT_TRUE(director.run());
        auto const order = by_rank(world.points(director.trials()));
        for (std::size_t place = 0; place < 20; ++place) EXPECT_GE(director.trials()[order[place]].epochs, 3) << seed;
        EXPECT_LT(director.count_at(3), 50U) << "most are not promoted";
        EXPECT_GE(director.count(State::stopped), 1U) << "too many trials dominate some";
    }
}

// Epoch 1: 0.5 misses the bound by less than 0.9 does, whatever their sizes are.
TEST(Asha, WhoMeetsTheBoundGoesFirst) {
    auto world = traded(4, 1);
    world.losses = {0.9, 0.5, 0.1, 0.6};
    auto const search = make_search(
        search_experiment(
            R"({"procedure": "successive_halving", "trials": 4, "eta": 2, "objectives": ["val_loss", "parameters"],
                              "subject_to": {"val_loss": {"below": 0.2}}})",
            k_unit, train_for(4)),
        world.context);
    FakeDirector director(*search, 1, fixed_losses(world.losses), 1, 1);
    ASSERT_TRUE(director.run());
    EXPECT_EQ(director.trials()[2].epochs, 4);
    EXPECT_EQ(director.trials()[1].epochs, 2);
    EXPECT_EQ(director.trials()[0].epochs + director.trials()[3].epochs, 2);
}

// Completed curves 1.0, .9, 1.2 at the first epoch.
TEST(Median, VerdictsOfOptuna) {
    auto const after = [](std::optional<double> loss) {
        auto const search =
            make_search(search_experiment(R"({"procedure": "median", "trials": 4, "min_trials": 3})", k_unit, train_for(3)));
        for (double each : {1.0, .9, 1.2}) search->report({search->next()->trial, 0, each});
        return search->report({search->next()->trial, 0, loss}).kind;
    };
    EXPECT_EQ(after(1.1), Verdict::Kind::stop);
    EXPECT_EQ(after(1.0), Verdict::Kind::go_on);
    EXPECT_EQ(after(.95), Verdict::Kind::go_on);
    EXPECT_EQ(after(std::nullopt), Verdict::Kind::stop);
}

TEST(Median, BestSoFarAgainstRunningMeans) {
    auto const search = make_search(search_experiment(
        R"({"procedure": "median", "trials": 9, "min_trials": 2, "min_epochs": 2})", k_unit, train_for(4)));
    auto const trials = [&] {
        std::vector<TrialId> out;
        for (int i = 0; i < 3; ++i) out.push_back(search->next()->trial);
        return out;
    }();
    for (double loss : {4.0, 1.0}) search->report({trials[0], loss == 4.0 ? 0 : 1, loss});  // mean 2.5
    for (double loss : {3.0, 1.0}) search->report({trials[1], loss == 3.0 ? 0 : 1, loss});  // mean 2.0; median 2.25
    EXPECT_EQ(search->report({trials[2], 0, 9.0}).kind, Verdict::Kind::go_on) << "not before min_epochs";
    auto const verdict = search->report({trials[2], 1, 2.3});
    EXPECT_EQ(verdict.kind, Verdict::Kind::stop);
    EXPECT_EQ(verdict.why, "epoch 2: best 2.3 is worse than the median 2.25 of 2 others");
}

// Curves after epochs 1 to 20, one trial after another; the first one ends at 0.05.
TEST(Extrapolate, StopsWhatWillNotReachTheBest) {
    auto const curve = [](int trial, double t) {
        switch (trial) {
            case 0: return 1 / t;
            case 1: return 0.2 + 1 / t;                 // ends at 0.25
            case 2: return 3 / std::sqrt(t) - 0.65;     // begins badly, and ends at 0.02
            case 3: return 0.4;                         // does not move
            case 4: return 0.05 + t / 100;              // gets worse
            case 5: return t < 2 ? 0.01 : 0.3 + 1 / t;  // a lucky first epoch
            default: return 0.5 / (t * t);              // the new best
        }
    };
    auto const search =
        make_search(search_experiment(R"({"procedure": "extrapolate", "trials": 7})", k_unit, train_for(20)));
    FakeDirector director(
        *search, 1, [&](TrialId id, auto const&, int epochs) { return std::optional(curve(id.value, epochs)); }, 1);
    ASSERT_TRUE(director.run());
    auto const epochs = [&](std::size_t trial) { return director.trials()[trial].epochs; };
    for (std::size_t trial : {0U, 2U, 6U}) EXPECT_EQ(epochs(trial), 20) << trial;
    for (std::size_t trial : {1U, 3U, 4U, 5U}) EXPECT_EQ(epochs(trial), 5) << trial << ": a fit needs four points";
    EXPECT_TRUE(
        director.trials()[1].why.starts_with("epoch 5: its curve ends worse than the best of the others (0.05) with "))
        << director.trials()[1].why;
}

// Side by side: no trial has trained to its end, and what the best has reached already is enough.
TEST(Extrapolate, NeedsNoTrialThatHasEnded) {
    auto const search =
        make_search(search_experiment(R"({"procedure": "extrapolate", "trials": 2})", k_unit, train_for(20)));
    auto const good = search->next()->trial, bad = search->next()->trial;
    for (int epoch = 0; epoch < 4; ++epoch) {
        EXPECT_EQ(search->report({good, epoch, 1.0 / (epoch + 1)}).kind, Verdict::Kind::go_on);
        EXPECT_EQ(search->report({bad, epoch, 2 + 1.0 / (epoch + 1)}).kind, Verdict::Kind::go_on);
    }
    EXPECT_EQ(search->report({bad, 4, 2.2}).kind, Verdict::Kind::stop);
    EXPECT_EQ(search->report({good, 4, 0.2}).kind, Verdict::Kind::go_on) << "its own best does not count";
}

TEST(Extrapolate, ConfidenceAndFirstDecision) {
    auto const trained = [](std::string const& keys) {
        auto const search = make_search(
            search_experiment(R"({"procedure": "extrapolate", "trials": 2, )" + keys + "}", k_unit, train_for(20)));
        // The second trial is noisy, and a little worse.
        FakeDirector director(
            *search, 1,
            [](TrialId id, auto const&, int epochs) {
                return std::optional(1.0 / epochs + (id.value == 1 ? 0.03 + 0.05 * (epochs % 2) : 0));
            },
            1);
        EXPECT_TRUE(director.run());
        return director.trials()[1].epochs;
    };
    EXPECT_LT(trained(R"("confidence": 0.6)"), 12);
    EXPECT_EQ(trained(R"("confidence": 0.6, "min_epochs": 12)"), 12);
    EXPECT_GT(trained(R"("confidence": 0.999)"), trained(R"("confidence": 0.6)"));
    EXPECT_EQ(trained(R"("confidence": 1)"), 20);
}

TEST(Median, EqualTrialsAllFinish) {
    auto const search = make_search(search_experiment(R"({"procedure": "median", "trials": 20})", k_unit, train_for(5)));
    FakeDirector director(*search, 6, fixed_losses(std::vector<double>(20, 1.0)), 2);
    ASSERT_TRUE(director.run());
    EXPECT_EQ(director.count(State::finished), 20U);
}

TEST(Budget, EndsEveryProcedure) {
    for (auto const* search_text :
         {R"({"procedure": "asha", "budget": {"epochs": 60}})", R"({"procedure": "hyperband", "budget": {"epochs": 60}})",
          R"({"procedure": "random", "budget": {"epochs": 60}})", R"({"procedure": "median", "budget": {"epochs": 60}})",
          R"({"procedure": "pbt", "budget": {"epochs": 60}})"}) {
        auto const search = make_search(search_experiment(search_text, k_unit, train_for(9)));
        FakeDirector director(*search, 4, [](TrialId id, auto const&, int) { return std::optional<double>(-id.value); }, 1);
        ASSERT_TRUE(director.run()) << search_text;
        std::size_t epochs = 0;
        for (auto const& trial : director.trials()) epochs += trial.losses.size();
        EXPECT_GE(epochs, 60U) << search_text;
        EXPECT_LE(epochs, 60U + 9) << search_text;
    }
    auto const search =
        make_search(search_experiment(R"({"procedure": "random", "trials": 9, "budget": {"trials": 5}})", k_unit));
    FakeDirector director(*search, 4, [](TrialId, auto const&, int) { return std::optional(1.0); }, 1);
    ASSERT_TRUE(director.run());
    EXPECT_EQ(director.trials().size(), 5U);
}

TEST(Budget, WhatAFailedTrialLeavesGoesToOthers) {
    auto const search = make_search(
        search_experiment(R"({"procedure": "random", "trials": 5, "budget": {"epochs": 20}})", k_unit, train_for(10)));
    auto const first = search->next(), second = search->next();
    ASSERT_TRUE(first && second);
    EXPECT_FALSE(search->next()) << "20 epochs have been handed out";
    EXPECT_FALSE(search->finished()) << "some may come back";
    search->report({first->trial, 0, std::nullopt});
    EXPECT_TRUE(search->next()) << "nine of them";
    EXPECT_FALSE(search->next());
}

}  // namespace rules_test
}  // namespace hopscotch
