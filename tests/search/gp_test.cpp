// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "experiment/measures.hpp"
#include "fake_director.hpp"
#include "search/cube.hpp"

namespace hopscotch {
namespace gp_test {

std::string const k_space = R"({
    "train.optimizer.name": ["sgd", "adam", "rmsprop"],
    "train.optimizer.lr": {"type": "float", "low": 1e-5, "high": 1, "log": true},
    "train.optimizer.momentum": {"type": "float", "low": 0, "high": 0.9, "when": {"train.optimizer.name": "sgd"}},
    "train.batch_size": {"type": "int", "low": 8, "high": 512, "log": true},
    "train.optimizer.weight_decay": {"type": "float", "low": 0, "high": 0.3, "step": 0.1}})";

double at(Assignment const& assignment, std::string_view path) { return value_of(assignment, path)->number(); }

// Least at sgd with lr 0.01 and momentum 0.6, batches of 64 and weight_decay 0.1; adam is nearly as good.
double bowl(Assignment const& each) {
    auto const name = value_of(each, "train.optimizer.name")->string();
    double const momentum = name == "sgd" ? at(each, "train.optimizer.momentum") - 0.6 : 0;
    double const other = name == "sgd" ? 0 : name == "adam" ? 0.05 : 0.3;
    return other + momentum * momentum + std::pow(std::log10(at(each, "train.optimizer.lr")) + 2, 2) / 4 +
           std::pow(std::log2(at(each, "train.batch_size")) - 6, 2) / 20 +
           std::abs(at(each, "train.optimizer.weight_decay") - 0.1);
}

struct Job {
    std::string search = "";  // more keys
    std::uint64_t seed = 0;
    std::size_t in_flight = 1;
    std::string space = k_space;
    FakeDirector::Loss loss = [](TrialId, FakeDirector::Trial const& trial, int) { return bowl(trial.assignment); };
};

std::vector<FakeDirector::Trial> searched(std::string const& sampler, int trials, Job const& job) {
    auto const experiment =
        search_experiment(R"({"procedure": ")" + sampler + R"(", "trials": )" + std::to_string(trials) + job.search + "}",
                          job.space, R"({"epochs": 1})", std::to_string(job.seed));
    auto const search = make_search(experiment);
    FakeDirector director(*search, job.in_flight, job.loss, job.seed);
    EXPECT_TRUE(director.run());
    return director.trials();
}

double best_of(std::vector<FakeDirector::Trial> const& trials) {
    double out = 10;
    for (auto const& each : trials) out = std::min(out, bowl(each.assignment));
    return out;
}

// In the median of nine searches.
TEST(Gp, FindsWhatOthersDoNot) {
    auto const median_of = [](std::string const& sampler, std::size_t in_flight) {
        std::vector<double> best;
        for (std::uint64_t seed = 0; seed < 9; ++seed)
            best.push_back(best_of(searched(sampler, 50, {.seed = seed, .in_flight = in_flight})));
        std::ranges::sort(best);
        return best[4];
    };
    double const tpe = median_of("tpe", 1);
    EXPECT_LT(median_of("gp", 1), tpe / 3);
    EXPECT_LT(median_of("gp", 8), tpe / 2);
}

// All 27 configurations of a small space, and then none.
TEST(Gp, TriesEveryConfigurationOnce) {
    std::string const space = R"({"train.optimizer.name": ["sgd", "adam", "rmsprop"],
                                  "train.batch_size": {"type": "int", "low": 1, "high": 9}})";
    auto const loss = [](TrialId, FakeDirector::Trial const& trial, int) {
        return at(trial.assignment, "train.batch_size") +
               (value_of(trial.assignment, "train.optimizer.name")->string() == "adam" ? 0 : 3);
    };
    auto const trials = searched("gp", 100, {.in_flight = 3, .space = space, .loss = loss});
    std::set<std::string> seen;
    for (auto const& each : trials) seen.insert(to_json(each.assignment).dump());
    EXPECT_EQ(seen.size(), 27U);
    EXPECT_EQ(trials.size(), 27U);
}

TEST(Gp, ObeysForbid) {
    auto const trials =
        searched("gp", 60,
                 {.search = R"(, "forbid": [{"train.optimizer.name": "sgd", "train.batch_size": {"below": 100}},
                                  {"train.optimizer.weight_decay": 0.1}])",
                  .in_flight = 2});
    for (auto const& each : trials) {
        EXPECT_FALSE(value_of(each.assignment, "train.optimizer.name")->string() == "sgd" &&
                     at(each.assignment, "train.batch_size") < 100);
        EXPECT_NE(at(each.assignment, "train.optimizer.weight_decay"), 0.1);
    }
    EXPECT_LT(best_of(trials), 0.25);
}

// Failures, equal results, results that are all failures but one: proposals go on, and are new.
TEST(Gp, LivesWithResultsThatSayLittle) {
    auto const run = [](std::function<std::optional<double>(int)> const& loss_of) {
        auto const loss = [&](TrialId trial, FakeDirector::Trial const&, int) { return loss_of(trial.value); };
        auto const trials = searched("gp", 40, {.in_flight = 4, .loss = loss});
        EXPECT_EQ(trials.size(), 40U);
    };
    run([](int) { return std::nullopt; });
    run([](int) { return 1.0; });
    run([](int trial) { return trial == 5 ? std::optional(1.0) : std::nullopt; });
    run([](int trial) { return trial % 2 == 0 ? std::optional(1e308) : std::optional(-1e308); });
    run([](int trial) { return trial % 3 == 0 ? std::nullopt : std::optional(1e-300 * trial); });
}

// A trial that failed is far from good.
TEST(Gp, LeavesWhereTrialsFail) {
    auto const loss = [](TrialId, FakeDirector::Trial const& trial, int) {
        return at(trial.assignment, "train.optimizer.lr") > 0.003 ? std::nullopt : std::optional(bowl(trial.assignment));
    };
    auto const trials = searched("gp", 60, {.loss = loss});
    auto const failed = std::count_if(trials.begin() + 30, trials.end(),
                                      [](auto const& each) { return at(each.assignment, "train.optimizer.lr") > 0.003; });
    EXPECT_LT(failed, 12);
}

// Twice the same values: the search is a function of its results.
TEST(Gp, RepeatsItself) {
    auto const first = searched("gp", 40, {.seed = 3, .in_flight = 4}),
               second = searched("gp", 40, {.seed = 3, .in_flight = 4});
    for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i].assignment, second[i].assignment);
}

// Most of the last trials are far better than the first ones; some explore.
TEST(Gp, ProposesForARule) {
    std::vector<double> first, last;
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        auto const experiment = search_experiment(R"({"procedure": "asha", "sampler": "gp", "trials": 60})", k_space,
                                                  R"({"epochs": 9})", std::to_string(seed));
        auto const search = make_search(experiment);
        FakeDirector director(
            *search, 4,
            [](TrialId, FakeDirector::Trial const& trial, int epochs) { return bowl(trial.assignment) + 1.0 / epochs; },
            seed);
        EXPECT_TRUE(director.run());
        for (std::size_t i = 0; i < 20; ++i) {
            first.push_back(bowl(director.trials().at(i).assignment));
            last.push_back(bowl(director.trials().at(40 + i).assignment));
        }
    }
    std::ranges::sort(first);
    std::ranges::sort(last);
    EXPECT_LT(last[40], first[40] / 2);
}

// What bounds exclude is proposed again and again by the model: random draws step in, and no trial is lost.
TEST(Gp, FindsWhatBoundsAllow) {
    auto const experiment = search_experiment(
        R"({"procedure": "gp", "trials": 40, "subject_to": {"parameters": {"below": 400}}})",
        R"({"model.x": {"type": "int", "low": 1, "high": 1000}, "model.y": {"type": "int", "low": 1, "high": 1000}})",
        R"({"epochs": 1})", "1");
    SearchContext context;
    context.measure = [](Assignment const& each) { return Measures{at(each, "model.x"), 0, 0}; };
    auto const search = make_search(experiment, context);
    FakeDirector director(
        *search, 2, [](TrialId, FakeDirector::Trial const& trial, int) { return -at(trial.assignment, "model.x"); }, 1);
    EXPECT_TRUE(director.run());
    EXPECT_EQ(director.trials().size(), 40U);
    for (auto const& trial : director.trials()) EXPECT_LT(at(trial.assignment, "model.x"), 400);
}

// A list of thousands of values, and many keys behind a condition: the search of a proposal has a limit.
TEST(Gp, LargeSpaces) {
    std::string many = R"({"model.a": [0, 1], "model.b": [)";
    for (int i = 0; i < 5000; ++i) many += (i > 0 ? ", " : "") + std::to_string(i);
    many += "]";
    for (int i = 0; i < 60; ++i)
        many += ", \"model.k" + std::to_string(i) + R"(": {"type": "int", "low": 0, "high": 9)" +
                (i % 2 == 0 ? R"(, "when": {"model.a": 1}})" : "}");
    auto const loss = [](TrialId, FakeDirector::Trial const& trial, int) { return at(trial.assignment, "model.k1"); };
    EXPECT_EQ(searched("gp", 16, {.space = many + "}", .loss = loss}).size(), 16U);
}

TEST(Cube, PointsAndConfigurations) {
    auto const experiment = search_experiment(R"({"procedure": "random", "trials": 1})", k_space);
    Problems problems("cube");
    auto const space = read_space(experiment, problems);
    Cube const cube(space);
    ASSERT_EQ(cube.size(), 5);
    EXPECT_TRUE(cube.has_conditions());
    Rng rng(1);
    for (int i = 0; i < 200; ++i) {
        auto const point = cube.draw([&] { return rng.uniform(); });
        auto const assignment = cube.assignment_at(point);
        EXPECT_TRUE(is_in(space, assignment));
        auto const seen = cube.point_of(assignment);
        bool const is_sgd = value_of(assignment, "train.optimizer.name")->string() == "sgd";
        for (Eigen::Index k = 0; k < 5; ++k)
            EXPECT_NEAR(seen[k], k == 2 && !is_sgd ? 0.5 : point[k], 1e-12) << to_json(assignment).dump();
        EXPECT_LT((cube.point_of(cube.assignment_at(seen)) - seen).norm(), 1e-12);
        EXPECT_EQ(cube.present_at(point), (std::vector<bool>{true, true, is_sgd, true, true}));
        EXPECT_LT((cube.with_absent_at_rest(point) - seen).norm(), 1e-12);
    }
    EXPECT_NEAR(cube.place_of(cube.side(4), 0), 0.125, 1e-12);
    EXPECT_NEAR(cube.place_of(cube.side(4), 3), 0.875, 1e-12);
    EXPECT_EQ(cube.value_at(cube.side(4), 0.49), 1U);
}

}  // namespace gp_test
}  // namespace hopscotch
