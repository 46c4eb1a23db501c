// SPDX-License-Identifier: Apache-2.0
// Priors of keys. The numbers of cut normal distributions are those of scipy.stats.truncnorm.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>

#include "core/rng.hpp"
#include "experiment/procedures.hpp"
#include "fake_director.hpp"
#include "search/cube.hpp"
#include "search/normal.hpp"
#include "search/parzen.hpp"

namespace hopscotch {
namespace prior_test {

TEST(CutNormal, QuantilesAndDensities) {
    CutNormal const normal{0.3, 0.25, 0, 1};
    auto const quantile = [](CutNormal const& of, double u) { return of.quantile(u, of.mass()); };
    EXPECT_NEAR(quantile(normal, 0), 0, 1e-15);
    EXPECT_NEAR(quantile(normal, 0.1), 0.09253342499033218, 1e-14);
    EXPECT_NEAR(quantile(normal, 0.5), 0.33537167693108777, 1e-14);
    EXPECT_NEAR(quantile(normal, 0.9), 0.6339724460237958, 1e-14);
    EXPECT_NEAR(quantile(normal, 0.999999), 0.9999721355909788, 1e-13);
    EXPECT_NEAR(normal.log_density(0), -0.12750625485351708, 1e-14);
    EXPECT_NEAR(normal.log_density(0.3), 0.5924937451464828, 1e-14);
    EXPECT_NEAR(normal.log_density(0.8), -1.4075062548535173, 1e-14);
    CutNormal const narrow{0, 0.001, 0, 1};
    EXPECT_NEAR(quantile(narrow, 0.1), 0.00012566134685507402, 1e-17);
    EXPECT_NEAR(quantile(narrow, 0.999), 0.0032905267314918946, 1e-16);
}

double drawn(std::string const& entry, double u) {
    return draw(space_from(R"({"model.a": )" + entry + "}").parameters[0], [u] { return u; }).number();
}

TEST(Prior, NumbersAreDrawnAroundTheGuess) {
    auto const range = [](std::string const& more) {
        return R"({"type": "float", "low": 1e-4, "high": 0.1, )" + more + "}";
    };
    auto const log = range(R"("log": true, "prior": 1e-3)");
    EXPECT_NEAR(drawn(log, 0.05), 0.0001505652976863974, 1e-16);
    EXPECT_NEAR(drawn(log, 0.5), 0.001208652933587591, 1e-15);
    EXPECT_NEAR(drawn(log, 0.95), 0.017393726620385973, 1e-14);
    EXPECT_EQ(drawn(range(R"("log": true, "prior": {"guess": 1e-3, "deviation": 0.25})"), 0.05), drawn(log, 0.05));
    auto const narrow = R"({"type": "float", "low": 0, "high": 1, "prior": {"guess": 0, "deviation": 0.001}})";
    EXPECT_NEAR(drawn(narrow, 0.999), 0.0032905267314918946, 1e-16);
    auto const whole = R"({"type": "int", "low": 1, "high": 9, "prior": {"guess": 7, "deviation": 0.001}})";
    for (double const u : {1e-9, 0.3, 0.999}) EXPECT_EQ(drawn(whole, u), 7);
    auto const stepped =
        R"({"type": "float", "low": 0, "high": 1, "step": 0.25, "prior": {"guess": 0.5, "deviation": 0.3}})";
    EXPECT_EQ(drawn(stepped, 0.01), 0);
    EXPECT_EQ(drawn(stepped, 0.5), 0.5);
    EXPECT_EQ(drawn(stepped, 0.99), 1);
    for (double const u : {0.0, 1 - 0x1p-53}) {
        EXPECT_GE(drawn(log, u), 1e-4);
        EXPECT_LE(drawn(log, u), 0.1);
    }
}

TEST(Prior, ValuesOfAListAreDrawnByTheirWeights) {
    auto const space = space_from(R"({"model.a": {"type": "choice", "values": ["x", "y", "z"], "prior": [6, 3, 1]}})");
    auto const& parameter = space.parameters[0];
    Rng rng(3);
    std::map<std::string, int> counts, placed;
    for (int i = 0; i < 10'000; ++i) {
        ++counts[draw(parameter, [&] { return rng.uniform(); }).string()];
        ++placed[value_at(parameter, (i + 0.5) / 10'000).string()];
    }
    EXPECT_NEAR(counts["x"], 6000, 150);
    EXPECT_NEAR(counts["y"], 3000, 150);
    EXPECT_NEAR(counts["z"], 1000, 100);
    EXPECT_EQ(placed, (std::map<std::string, int>{{"x", 6000}, {"y", 3000}, {"z", 1000}}));
}

TEST(Prior, EqualWeightsDrawWhatNoWeightsDraw) {
    auto const even = space_from(R"({"model.a": ["x", "y", "z"]})").parameters[0];
    auto const weighed =
        space_from(R"({"model.a": {"type": "choice", "values": ["x", "y", "z"], "prior": [2, 2, 2]}})").parameters[0];
    Rng a(5), b(5);
    for (int i = 0; i < 200; ++i)
        EXPECT_EQ(draw(even, [&] { return a.uniform(); }), draw(weighed, [&] { return b.uniform(); }));
}

TEST(Prior, IsAKernelOfTheGoodDensity) {
    auto const space = space_from(R"({
        "model.a": {"type": "float", "low": 1e-4, "high": 1, "log": true, "prior": {"guess": 0.01, "deviation": 0.1}},
        "model.b": {"type": "choice", "values": ["x", "y"], "prior": [3, 1]}})");
    Parzen const parzen({axis_of(space.parameters[0]), axis_of(space.parameters[1])}, {{0.1, 1}});
    EXPECT_NEAR(parzen.kernels(0).mu.back(), std::log(0.01), 1e-14);
    EXPECT_NEAR(parzen.kernels(0).sigma.back(), 0.1 * std::log(1e4), 1e-14);
    Parzen const nothing_seen({axis_of(space.parameters[1])}, {});
    EXPECT_NEAR(nothing_seen.log_density(std::vector{0.0}), std::log(0.75), 1e-15);
    EXPECT_NEAR(nothing_seen.log_density(std::vector{1.0}), std::log(0.25), 1e-15);
}

std::string const k_mixed = R"({
    "model.a": {"type": "float", "low": 1e-4, "high": 1, "log": true, "prior": 0.01},
    "model.b": {"type": "choice", "values": ["x", "y", "z"], "prior": [3, 2, 1]},
    "model.c": {"type": "float", "low": 0, "high": 1, "prior": {"guess": 0.9, "deviation": 0.1}, "when": {"model.b": "y"}},
    "model.d": {"type": "int", "low": 1, "high": 8, "prior": 3},
    "model.e": {"type": "float", "low": 0, "high": 1}})";

TEST(Prior, DensityInTheCube) {
    auto const space = space_from(k_mixed);
    Cube const cube(space);
    Eigen::VectorXd point(5);
    point << 0.3, 1, 0.7, 0.4, 0.2;
    double const by_hand = CutNormal{0.5, 0.25, 0, 1}.log_density(0.3) + std::log(1.0) +
                           CutNormal{0.9, 0.1, 0, 1}.log_density(0.7) + CutNormal{2.5 / 8, 0.25, 0, 1}.log_density(0.4);
    EXPECT_NEAR(cube.log_prior(point), by_hand, 1e-12);
    auto const slopes = cube.log_prior_slopes(point);
    for (Eigen::Index i = 0; i < 5; ++i) {
        if (cube.side(i).is_category()) continue;
        Eigen::VectorXd right = point, left = point;
        right[i] += 1e-6;
        left[i] -= 1e-6;
        EXPECT_NEAR(slopes[i], (cube.log_prior(right) - cube.log_prior(left)) / 2e-6, 1e-6) << i;
    }
    point[1] = 0;  // c is absent
    double const of_c = CutNormal{0.9, 0.1, 0, 1}.log_density(0.7);
    EXPECT_NEAR(cube.log_prior(point), by_hand - of_c + std::log(1.5), 1e-12);
    EXPECT_EQ(cube.log_prior_slopes(point)[2], 0);
    EXPECT_FALSE(Cube(space_from(R"({"model.a": [1, 2]})")).has_priors());
}

// Of three keys, lowest at 0.7 each.
struct Job {
    std::string search;
    std::string prior;  // of each key
    int epochs = 1;
    std::uint64_t seed = 0;
};

double bowl(Assignment const& assignment) {
    double out = 0;
    for (auto const& [path, value] : assignment) out += std::pow(value.number() - 0.7, 2);
    return out;
}

std::vector<FakeDirector::Trial> searched(Job const& job) {
    std::string space;
    for (auto const* key : {"model.a", "model.b", "model.c", "model.d"})
        space += (space.empty() ? "{\"" : ", \"") + std::string(key) + R"(": {"type": "float", "low": 0, "high": 1)" +
                 (job.prior.empty() ? "" : R"(, "prior": )" + job.prior) + "}";
    auto const experiment = search_experiment("{" + job.search + "}", space + "}",
                                              R"({"epochs": )" + std::to_string(job.epochs) + "}", std::to_string(job.seed));
    auto const search = make_search(experiment);
    FakeDirector director(
        *search, 1, [](TrialId, FakeDirector::Trial const& trial, int) { return bowl(trial.assignment); }, job.seed);
    EXPECT_TRUE(director.run());
    return director.trials();
}

double median_best(Job job) {
    std::vector<double> out;
    for (job.seed = 0; job.seed < 15; ++job.seed) {
        double best = 10;
        for (auto const& each : searched(job)) best = std::min(best, bowl(each.assignment));
        out.push_back(best);
    }
    std::ranges::sort(out);
    return out[7];
}

// Each sampler that draws values finds more with a good guess.
TEST(Prior, AGoodGuessHelpsEverySampler) {
    for (auto const& row : procedure_traits()) {
        if (row.has_rule || sampler_traits(row.samplers.front()).configurations != Configurations::drawn) continue;
        auto const search = R"("procedure": ")" + std::string(row.name) + R"(", "trials": 16)";
        EXPECT_LT(median_best({search, "0.65"}), 0.8 * median_best({search, ""})) << row.name;
    }
}

// All results are equal, so the prior alone tells the values apart. The first draw is random.
TEST(Prior, ModelsProposeNearTheGuess) {
    auto const near = [](std::string const& sampler, std::string const& prior) {
        int out = 0;
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
            auto const experiment = search_experiment(R"({"procedure": ")" + sampler + R"(", "trials": 9, "startup": 1})",
                                                      R"({"model.a": {"type": "float", "low": 0, "high": 1)" + prior + "}}",
                                                      R"({"epochs": 1})", std::to_string(seed));
            auto const search = make_search(experiment);
            FakeDirector director(*search, 1, [](TrialId, FakeDirector::Trial const&, int) { return 0.0; }, seed);
            EXPECT_TRUE(director.run());
            for (std::size_t i = 1; i < director.trials().size(); ++i)
                out += std::abs(director.trials()[i].assignment[0].second.number() - 0.2) < 0.1;
        }
        return out;  // of 80
    };
    std::string const prior = R"(, "prior": {"guess": 0.2, "deviation": 0.05})";
    for (auto const* sampler : {"tpe", "gp"}) EXPECT_GT(near(sampler, prior), near(sampler, "") + 50) << sampler;
}

TEST(Prior, ABadGuessIsOvercome) {
    for (auto const* name : {"tpe", "gp"}) {
        auto const search = R"("procedure": ")" + std::string(name) + R"(", "trials": 60)";
        double const random = median_best({R"("procedure": "random", "trials": 60)", ""});
        EXPECT_LT(median_best({search, "0.05"}), random) << name;
    }
}

// With eta 3 a draw is even with probability 1/2, 1/4 and 1/10 at the rungs 0, 1 and 2.
TEST(PriorBand, ALaterRungIsDrawnFromThePriorMoreOften) {
    auto const experiment = search_experiment(
        R"({"procedure": "hyperband", "sampler": "priorband", "trials": 3400})",
        R"({"model.a": {"type": "float", "low": 0, "high": 1, "prior": {"guess": 0.2, "deviation": 0.001}}})",
        R"({"epochs": 9})");
    auto const search = make_search(experiment);
    std::map<int, std::array<int, 2>> counts;  // by the first decision point: draws near the guess, all
    while (auto const proposal = search->next()) {
        auto& [near, all] = counts[proposal->until_epoch];
        near += std::abs(proposal->assignment[0].second.number() - 0.2) < 0.01 ? 1 : 0;
        ++all;
    }
    auto const share = [&](int epochs) { return static_cast<double>(counts[epochs][0]) / counts[epochs][1]; };
    EXPECT_EQ(counts.size(), 3U);
    EXPECT_NEAR(share(1), 0.5, 0.05);
    EXPECT_NEAR(share(3), 0.75, 0.05);
    EXPECT_NEAR(share(9), 0.9, 0.05);
}

TEST(PriorBand, TheBestResultsDecideBetweenThePriorAndTheBestOne) {
    auto const near_guess = [](std::string const& guess, double from, double to) {
        Job const job{R"("procedure": "hyperband", "sampler": "priorband", "trials": 120)",
                      R"({"guess": )" + guess + R"(, "deviation": 0.02})", 9, 3};
        auto const trials = searched(job);
        int out = 0;
        for (auto i = trials.size() / 2; i < trials.size(); ++i)
            out += std::ranges::all_of(trials[i].assignment, [&](auto const& entry) {
                return entry.second.number() > from && entry.second.number() < to;
            });
        return out;
    };
    EXPECT_GT(near_guess("0.7", 0.6, 0.8), 20);
    EXPECT_LT(near_guess("0.1", 0, 0.2), 3);
}

TEST(PriorBand, FindsMoreThanRandomWithAnyGuess) {
    auto const best = [](std::string const& sampler, std::string const& guess) {
        return median_best({R"("procedure": "hyperband", "trials": 60, "sampler": ")" + sampler + "\"", guess, 9});
    };
    double const random = best("random", "");
    EXPECT_LT(best("priorband", "0.65"), random / 2);
    EXPECT_LT(best("priorband", "0.05"), random);
    EXPECT_LT(best("priorband", ""), random);
}

}  // namespace prior_test
}  // namespace hopscotch
