// SPDX-License-Identifier: Apache-2.0
// Numbers of the Python package cmaes 0.13.1.
#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <cmath>

#include "fake_director.hpp"
#include "search/cma.hpp"

namespace hopscotch {
namespace cma_test {

using Eigen::Index;
using Eigen::VectorXd;

TEST(Cma, OneGeneration) {
    Cma cma(VectorXd::Zero(2), 0.5);
    ASSERT_EQ(cma.population(), 6U);
    std::vector<Cma::Solution> solutions;
    for (auto const& [x, y] : {std::pair(.3, .1), {-.2, .4}, {.5, -.5}, {-.1, -.3}, {.2, .6}, {-.6, 0.}})
        solutions.push_back({Eigen::Vector2d(x, y), (x - 1) * (x - 1) + 10 * (y + .5) * (y + .5)});
    cma.tell(solutions);
    EXPECT_EQ(cma.generation(), 1);
    EXPECT_NEAR(cma.mean()[0], 0.31358041127303016, 1e-14);
    EXPECT_NEAR(cma.mean()[1], -0.3960536457199432, 1e-14);
    EXPECT_NEAR(cma.deviation(), 0.4931497536059992, 1e-14);
    EXPECT_NEAR(cma.covariance()(0, 0), 0.9960856785678897, 1e-13);
    EXPECT_NEAR(cma.covariance()(0, 1), -0.17308746455995017, 1e-13);
    EXPECT_NEAR(cma.covariance()(1, 1), 0.9360755950239579, 1e-13);
}

TEST(Cma, TenGenerationsOfFiveCoordinates) {
    Cma cma(VectorXd::Constant(5, 0.5), 1.0 / 6);
    ASSERT_EQ(cma.population(), 8U);
    double const primes[] = {2, 3, 5, 7, 11};
    int point = 0;
    while (cma.generation() < 10) {
        std::vector<Cma::Solution> solutions;
        while (solutions.size() < cma.population()) {
            ++point;
            VectorXd at(5);
            double loss = 0;
            for (Index i = 0; i < 5; ++i) {
                at[i] = cma.mean()[i] + (std::fmod(point * std::sqrt(primes[i]), 1.0) - 0.5) * cma.deviation() * 3;
                loss += static_cast<double>(i + 1) * std::pow(at[i] - 0.2 * static_cast<double>(i), 2);
            }
            solutions.push_back({at, loss});
        }
        cma.tell(solutions);
    }
    double const mean[] = {0.008064485667925655, 0.09358488488359104, 0.31209017883145534, 0.7436884873266849,
                           0.8103334837010668};
    double const first[] = {1.1797368230883005, 0.22747537013206828, -0.11256378055274509, 0.01927180924373647,
                            0.011364398394487671};
    for (Index i = 0; i < 5; ++i) {
        EXPECT_NEAR(cma.mean()[i], mean[i], 1e-11);
        EXPECT_NEAR(cma.covariance()(0, i), first[i], 1e-10);
    }
    EXPECT_NEAR(cma.deviation(), 0.14670368939639308, 1e-12);
    EXPECT_NEAR(cma.covariance()(4, 4), 0.49457114682211273, 1e-10);
}

// As wide and as turned as the covariance says.
TEST(Cma, SamplesHaveTheCovariance) {
    Cma cma(VectorXd::Zero(2), 0.5);
    Rng rng(5);
    auto const normal = [&] { return rng.normal(); };
    while (cma.generation() < 6) {
        std::vector<Cma::Solution> line;
        while (line.size() < cma.population()) {
            VectorXd const at = cma.sample(normal);
            line.push_back({at, std::abs(at[0] - at[1])});
        }
        cma.tell(line);
    }
    Eigen::Matrix2d sum = Eigen::Matrix2d::Zero();
    int const count = 40'000;
    for (int i = 0; i < count; ++i) {
        VectorXd const step = cma.sample(normal) - cma.mean();
        sum += step * step.transpose();
    }
    Eigen::Matrix2d const expected = cma.deviation() * cma.deviation() * cma.covariance();
    EXPECT_LT((sum / count - expected).norm(), 0.03 * expected.norm());
    EXPECT_GT(expected(0, 1), 0.2 * expected(0, 0)) << "the line was not learned";
    EXPECT_NEAR(cma.widest(), std::sqrt(expected.selfadjointView<Eigen::Lower>().eigenvalues().maxCoeff()), 1e-12);
}

double at(FakeDirector::Trial const& trial, std::string_view path) { return value_of(trial.assignment, path)->number(); }

double bowl(FakeDirector::Trial const& trial) {
    double const a = std::log10(at(trial, "train.optimizer.lr")) + 2.2, b = at(trial, "train.optimizer.momentum") - 0.3,
                 c = (at(trial, "train.batch_size") - 40) / 60;
    return a * a / 9 + b * b + c * c + (value_of(trial.assignment, "train.loss")->string() == "mse" ? 0.01 : 0);
}

std::string const k_space = R"({"train.optimizer.lr": {"type": "float", "low": 1e-5, "high": 0.1, "log": true},
                                "train.optimizer.momentum": {"type": "float", "low": 0, "high": 0.9},
                                "train.batch_size": {"type": "int", "low": 4, "high": 64},
                                "train.loss": ["mse", "cross_entropy"]})";

std::vector<FakeDirector::Trial> searched(std::string const& sampler, std::uint64_t seed, std::size_t in_flight,
                                          FakeDirector::Loss const& loss) {
    auto const experiment = search_experiment(R"({"procedure": ")" + sampler + R"(", "trials": 150})", k_space,
                                              R"({"epochs": 1})", std::to_string(seed));
    auto const search = make_search(experiment);
    FakeDirector director(*search, in_flight, loss, seed);
    EXPECT_TRUE(director.run());
    EXPECT_EQ(director.trials().size(), 150U);
    return director.trials();
}

TEST(CmaEs, FindsWhatRandomDoesNot) {
    auto const best = [](std::string const& sampler, std::uint64_t seed, std::size_t in_flight) {
        double out = 1;
        for (auto const &trial :
             searched(sampler, seed, in_flight, [](TrialId, auto const& each, int) { return bowl(each); }))
            out = std::min(out, bowl(trial));
        return out;
    };
    double found = 0, parallel = 0, by_chance = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        found += best("cma_es", seed, 1);
        parallel += best("cma_es", seed, 8);
        by_chance += best("random", seed, 1);
    }
    EXPECT_LT(found, by_chance / 10);
    EXPECT_LT(parallel, by_chance / 2);
}

// A failed trial is the worst of its generation, and generations go on.
TEST(CmaEs, LearnsFromFailures) {
    auto const loss = [](TrialId, auto const& each, int) {
        return at(each, "train.optimizer.momentum") > 0.45 ? std::nullopt : std::optional(bowl(each));
    };
    auto const trials = searched("cma_es", 3, 4, loss);
    auto const failed_of = [&](std::size_t first) {
        return std::count_if(trials.begin() + static_cast<std::ptrdiff_t>(first),
                             trials.begin() + static_cast<std::ptrdiff_t>(first + 50),
                             [](auto const& each) { return at(each, "train.optimizer.momentum") > 0.45; });
    };
    EXPECT_GT(failed_of(0), 10);
    EXPECT_LT(failed_of(100), 5);
}

// From a corner of 12 coordinates few samples lie in the cube; the others are cut.
TEST(CmaEs, LearnsFromACorner) {
    std::string space = "{", corner = "{";
    for (int i = 0; i < 12; ++i) {
        auto const key = (i > 0 ? ", \"model.x" : "\"model.x") + std::to_string(i) + "\": ";
        space += key + R"({"type": "float", "low": 0, "high": 1})";
        corner += key + "0";
    }
    Problems told("");
    SearchContext context;
    context.past = {{assignment_from_json(parse_json(corner + "}", told)), {1}}};
    auto const loss = [](TrialId, FakeDirector::Trial const& trial, int) {
        double out = 0;
        for (auto const& [key, value] : trial.assignment) out += std::pow(value.number() - 0.3, 2);
        return std::optional(out);
    };
    auto const experiment = search_experiment(R"({"procedure": "cma_es", "trials": 400, "start_from": "runs/first"})",
                                              space + "}", R"({"epochs": 1})", "1");
    auto const search = make_search(experiment, context);
    FakeDirector director(*search, 1, loss, 1);
    EXPECT_TRUE(director.run());
    int on_the_bound = 0;
    for (std::size_t trial = 0; trial < 8; ++trial)
        for (auto const& [key, value] : director.trials()[trial].assignment) {
            EXPECT_LT(value.number(), 0.7) << key << " of trial " << trial << " is not near the corner";
            on_the_bound += value.number() == 0 ? 1 : 0;
        }
    EXPECT_GE(on_the_bound, 16) << "of 96 values";
    double best = 12;
    for (auto const& trial : director.trials()) best = std::min(best, *loss(TrialId(0), trial, 1));
    EXPECT_LT(best, 0.02);
}

}  // namespace cma_test
}  // namespace hopscotch
