// SPDX-License-Identifier: Apache-2.0
// Optuna's numbers (master of 2026-11 and 5.0.0), to ten digits.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <random>

#include "fake_director.hpp"
#include "search/normal.hpp"
#include "search/parzen.hpp"
#include "search/tpe.hpp"

namespace hopscotch {
namespace tpe_test {

using Rows = std::vector<std::vector<double>>;

Uniform numpy_stream(unsigned seed) {
    return [engine = std::make_shared<std::mt19937>(seed)] {
        double const high = static_cast<double>((*engine)() >> 5);
        return (high * 67108864.0 + static_cast<double>((*engine)() >> 6)) / 9007199254740992.0;
    };
}

double log_density(Parzen const& parzen, double x) { return parzen.log_density(std::vector{x}); }

Rows column(std::vector<double> const& values) {
    Rows out;
    for (double value : values) out.push_back({value});
    return out;
}

TEST(Normal, QuantileInvertsTheDistribution) {
    EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-14);
    EXPECT_NEAR(normal_quantile(1e-10), -6.361340902404056, 1e-12);
    EXPECT_NEAR(normal_quantile(0.5), 0, 1e-16);
    for (double p : {1e-300, 1e-12, 1e-5, 0.01, 0.2, 0.4999, 0.7, 0.999})
        EXPECT_NEAR(normal_cdf(normal_quantile(p)) / p, 1, 1e-11);
}

TEST(Parzen, KernelsAndDensities) {
    Parzen const good({Axis{}}, column({.35, .25, .30}));
    EXPECT_EQ(good.kernels(0).mu, (std::vector{.35, .25, .30, .5}));
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_NEAR(good.kernels(0).sigma[i], i == 3 ? 1 : .2, 1e-15);
        EXPECT_EQ(good.weights()[i], .25);
    }
    Parzen const bad({Axis{}}, column({.10, .90, .60, .75, .50, .05, .40}));
    std::vector const sigma{.3, .15, .15, .15, 1.0 / 9, 1.0 / 9, .3, 1.0};
    for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(bad.kernels(0).sigma[i], sigma[i], 1e-15);
    std::vector const x{0.0, .1, .3, .5, .9};
    std::vector const l{-0.25993075856, 0.201750028513, 0.606556235173, 0.208904991321, -1.343024708386};
    std::vector const g{0.04322966977, 0.097383061603, -0.34576577293, 0.208883951745, -0.131353545711};
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_NEAR(log_density(good, x[i]), l[i], 1e-11);
        EXPECT_NEAR(log_density(bad, x[i]), g[i], 1e-11);
    }
    Parzen const one({Axis{}}, column({.3}));
    EXPECT_NEAR(one.kernels(0).sigma[0], .7, 1e-15) << "the bounds are its neighbours";
    EXPECT_NEAR(log_density(one, .3), 0.069896163472, 1e-11);
}

TEST(Parzen, LogarithmsIntegersAndChoices) {
    Axis log;
    log.low = 1e-5;
    log.high = 1e-1;
    log.log = true;
    Parzen const rates({log}, column({1e-4, 1e-3, 1e-2, 3e-3}));
    std::vector const sigma{2.302585, 2.302585, 1.535057, 1.535057, 9.210340};
    for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(rates.kernels(0).sigma[i], sigma[i], 1e-6);
    EXPECT_NEAR(log_density(rates, 1e-3), -1.946850125814, 1e-11);
    Axis whole;
    whole.low = 7.5;
    whole.high = 128.5;
    whole.step = 1;
    Parzen const sizes({whole}, column({16, 32, 64}));
    EXPECT_NEAR(sizes.kernels(0).sigma[0], 24.2, 1e-12);
    EXPECT_NEAR(log_density(sizes, 8), -4.441993162489, 1e-11);
    EXPECT_NEAR(log_density(sizes, 32), -4.32141248083, 1e-11);
    Axis letters;
    letters.categories = 3;
    Parzen const choices({letters}, column({0, 2, 2}));
    EXPECT_NEAR(log_density(choices, 0), -1.098612288668, 1e-11);
    EXPECT_NEAR(log_density(choices, 1), -1.658228076604, 1e-11);
    EXPECT_NEAR(log_density(choices, 2), -0.741937344729, 1e-11);
}

TEST(Parzen, Weights) {
    auto const weights = parzen_weights(30);
    EXPECT_NEAR(weights[0], 1.0 / 30, 1e-15);
    EXPECT_NEAR(weights[1], .275, 1e-12);
    EXPECT_NEAR(weights[2], .516666666667, 1e-12);
    EXPECT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 27.583333333333, 1e-11);
    EXPECT_EQ(parzen_weights(25), std::vector<double>(25, 1.0));
    EXPECT_EQ(parzen_weights(0), std::vector<double>());
    std::vector<std::size_t> good;
    for (std::size_t n : {10U, 11U, 20U, 25U, 100U, 250U, 1000U}) good.push_back(good_results(n));
    EXPECT_EQ(good, (std::vector<std::size_t>{1, 2, 2, 3, 10, 25, 25}));
}

// What Optuna's TPESampler(seed=42, constant_liar=False) tries: the first ten at random, from a stream of their own.
std::vector<Assignment> optuna_sequence(Space const& space, TpeConfig const& config, std::size_t trials,
                                        std::function<double(Assignment const&)> const& loss) {
    History history;
    TpeModel const model(space, config);
    auto const random = numpy_stream(42), modelled = numpy_stream(42);
    std::vector<Assignment> out;
    for (std::size_t i = 0; i < trials; ++i) {
        out.push_back(i < 10 ? draw(space, random)
                             : model.propose(history, split_results(history, {Fidelity::last, 10}), modelled));
        history.add(out.back(), 1);
        history.add_loss(TrialId(i), loss(out.back()));
        history.of(TrialId(i)).state = TrialHistory::State::ended;
    }
    return out;
}

TEST(Tpe, OptunasSequenceOfOneKey) {
    auto const space = space_from(R"({"x": {"type": "float", "low": 0, "high": 1}})");
    for (auto const multivariate : {true, false}) {  // with one key it is the same
        TpeConfig config;
        config.multivariate = multivariate;
        auto const tried = optuna_sequence(space, config, 15, [](Assignment const& each) {
            double const x = each[0].second.number();
            return (x - .3) * (x - .3);
        });
        std::vector const expected{.4123147351, .3900184336, .3636399085, .3468508914, .2430263298};
        for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(tried[10 + i][0].second.number(), expected[i], 6e-11);
    }
}

struct Row {
    std::size_t trial;
    double a;
    int b;
    char const* c;
    int d;
    double e;
};

void expect_mixed_sequence(TpeConfig const& config, std::vector<Row> const& expected) {
    auto const space = space_from(R"({"a": {"type": "float", "low": 1e-5, "high": 1e-1, "log": true},
                                      "b": {"type": "int", "low": 1, "high": 8}, "c": ["x", "y", "z"],
                                      "d": {"type": "int", "low": 8, "high": 512, "log": true},
                                      "e": {"type": "float", "low": 0, "high": 1, "step": 0.25}})");
    auto const tried = optuna_sequence(space, config, 30, [](Assignment const& each) {
        double const a = std::log10(each[0].second.number()) + 3;
        double const b = each[1].second.number() - 5;
        auto const& c = each[2].second.string();
        double const d = std::log2(each[3].second.number()) - 6;
        return a * a + b * b * .1 + (c == "x" ? 0 : c == "y" ? 1 : .5) + d * d * .2 + each[4].second.number();
    });
    for (auto const& [trial, a, b, c, d, e] : expected) {
        EXPECT_NEAR(tried[trial][0].second.number() / a, 1, 1e-10) << trial;
        EXPECT_EQ(tried[trial][1].second.integer(), b) << trial;
        EXPECT_EQ(tried[trial][2].second.string(), c) << trial;
        EXPECT_EQ(tried[trial][3].second.integer(), d) << trial;
        EXPECT_EQ(tried[trial][4].second.number(), e) << trial;
    }
}

// Likewise with two or three objectives: create_study(directions=["minimize"] * n), sampler TPESampler(seed=42,
// multivariate, constant_liar=False); Optuna's own default is multivariate=False there.
void expect_sequence_of_objectives(bool multivariate, std::size_t objectives,
                                   std::map<std::size_t, std::array<double, 2>> const& expected) {
    auto const space = space_from(R"({"x": {"type": "float", "low": 0, "high": 1},
                                      "y": {"type": "float", "low": 0, "high": 1}})");
    TpeConfig config;
    config.multivariate = multivariate;
    History history;
    TpeModel const model(space, config, objectives);
    auto const random = numpy_stream(42), modelled = numpy_stream(42);
    for (std::size_t i = 0; i < 40; ++i) {
        auto const tried = i < 10
                               ? draw(space, random)
                               : model.propose(history, split_results(history, {Fidelity::last, 10, objectives}), modelled);
        double const x = tried[0].second.number(), y = tried[1].second.number();
        history.add(tried, 1);
        Point point{{x * x + y, (x - 1) * (x - 1) + (1 - y) * (1 - y) / 2}};
        if (objectives == 3) point.losses[2] = std::abs(x - y);
        history.add_loss(TrialId(i), point.losses[0]);
        history.add_point(TrialId(i), point);
        history.of(TrialId(i)).state = TrialHistory::State::ended;
        if (auto const known = expected.find(i); known != expected.end()) {
            EXPECT_NEAR(x, known->second[0], 6e-11) << i << " of " << objectives;
            EXPECT_NEAR(y, known->second[1], 6e-11) << i << " of " << objectives;
        }
    }
}

TEST(Tpe, OptunasSequencesOfSeveralObjectives) {
    expect_sequence_of_objectives(true, 2,
                                  {{10, {.4959078219, .184381342}},
                                   {11, {.8522853269, .133223815}},
                                   {15, {.9896992778, .6268836449}},
                                   {20, {.6195339431, .4012509053}},
                                   {25, {.7569638414, .7169890256}},
                                   {39, {.3595608847, .1479853948}}});
    expect_sequence_of_objectives(true, 3,
                                  {{10, {.4959078219, .184381342}},
                                   {11, {.027461281, .3244124569}},
                                   {20, {.4311877053, .7179195164}},
                                   {30, {.7309113023, .6621671164}},
                                   {39, {.2984634606, .1938005344}}});
    expect_sequence_of_objectives(false, 2,
                                  {{10, {.9521630978, .005997183}},
                                   {20, {.9119167232, .6895366011}},
                                   {30, {.3343360872, .4948388952}},
                                   {39, {.6036416247, .750997236}}});
    expect_sequence_of_objectives(false, 3,
                                  {{10, {.9521630978, .005997183}},
                                   {20, {.7165296437, .6906510438}},
                                   {30, {.3959656149, .3488901629}},
                                   {39, {.1703688082, .9232054781}}});
}

// Of Optuna 5.0.0 with argsort(kind="stable"): NumPy's default leaves open which of equal kernels is next to its neighbours.
TEST(Tpe, OptunasSequenceOfAllKindsTogether) {
    expect_mixed_sequence({}, {{10, 0.0002252656479547921, 6, "x", 14, 0.25},
                               {11, 0.0008401537600709047, 7, "x", 9, 0.0},
                               {12, 0.000454849368215163, 7, "x", 64, 0.0},
                               {13, 0.0015851392413238471, 8, "x", 67, 0.0},
                               {14, 0.0014081602557127315, 8, "x", 85, 0.25},
                               {15, 0.000106792479139478, 7, "x", 70, 0.25},
                               {28, 0.0001985111181690937, 5, "x", 97, 0.25},
                               {29, 0.0007056836734993398, 5, "x", 78, 0.25}});
}

TEST(Tpe, OptunasSequenceOfAllKindsEachAlone) {
    TpeConfig config;
    config.multivariate = false;
    expect_mixed_sequence(config, {{10, 0.0011341054259189538, 6, "x", 71, 0.0},
                                   {11, 0.0008639030150964932, 6, "x", 61, 0.0},
                                   {12, 0.0025309074187411396, 6, "x", 72, 0.0},
                                   {13, 0.0017245758136678212, 6, "x", 125, 0.0},
                                   {14, 0.00040431797336401077, 5, "x", 37, 0.25},
                                   {15, 0.009845602772537137, 6, "x", 186, 0.25}});  // then letters are equally good
}

TEST(Tpe, WhatCountsAsGoodAndBad) {
    History history;
    for (int i = 0; i < 14; ++i) history.add({{"x", Json(i)}}, 3);
    auto const end = [&](int trial, std::vector<double> losses) {
        for (double loss : losses) history.add_loss(TrialId(trial), loss);
        history.of(TrialId(trial)).state = TrialHistory::State::ended;
    };
    for (int i = 0; i < 9; ++i) end(i, {9.0, 8.0 - i});
    EXPECT_TRUE(split_results(history, {Fidelity::last, 10}).good.empty()) << "nine results are too few";
    end(9, {k_worst});
    auto split = split_results(history, {Fidelity::last, 10});
    EXPECT_EQ(split.good, (std::vector<std::size_t>{8}));
    EXPECT_EQ(split.bad.size(), 13U) << "the others, the failed one and the four that are pending";
    end(10, {k_worst});
    EXPECT_EQ(split_results(history, {Fidelity::last, 10}).good, (std::vector<std::size_t>{7, 8}));
    // After one epoch all are equal and the lower ids win; after two there are only nine.
    EXPECT_EQ(split_results(history, {Fidelity::deepest, 10}).good, (std::vector<std::size_t>{0, 1}));
    EXPECT_EQ(split_results(history, {Fidelity::deepest, 9}).good, (std::vector<std::size_t>{7, 8}));
    history.of(TrialId(11)).state = TrialHistory::State::paused;
    EXPECT_EQ(split_results(history, {Fidelity::last, 10}).bad.size(), 11U) << "who is paused is not pending";
    History failures;
    for (int i = 0; i < 12; ++i) {
        failures.add({{"x", Json(i)}}, 1);
        failures.add_loss(TrialId(i), k_worst);
        failures.of(TrialId(i)).state = TrialHistory::State::ended;
    }
    EXPECT_TRUE(split_results(failures, {Fidelity::last, 10}).good.empty());
}

// With a rule: who was left behind before the epochs that are compared is bad, and makes more of the others good.
TEST(Tpe, WhoIsLeftBehindIsBad) {
    History history;
    for (int i = 0; i < 42; ++i) history.add({{"x", Json(i)}}, 3);
    for (int i = 0; i < 40; ++i) {
        history.add_loss(TrialId(i), 40.0 - i);
        if (i < 12) history.add_loss(TrialId(i), i);
        history.of(TrialId(i)).state = i % 2 == 0 ? TrialHistory::State::ended : TrialHistory::State::paused;
    }
    history.add_past({{{"x", Json(50)}}, {0}, PastTrial::Progress::cut_off});
    auto const split = split_results(history, {Fidelity::deepest, 10});
    EXPECT_EQ(split.good, (std::vector<std::size_t>{1, 2, 3, 4})) << "a third of 12, after the one of the past";
    EXPECT_EQ(split.bad.size(), 38U) << "8 compared, 28 left behind, 2 in training; not what was cut off";
    EXPECT_TRUE(std::is_sorted(split.bad.begin(), split.bad.end()));
    EXPECT_EQ(split_results(history, {Fidelity::deepest, 13}).good, (std::vector<std::size_t>{0, 37, 38, 39, 40}));
}

}  // namespace tpe_test
}  // namespace hopscotch
