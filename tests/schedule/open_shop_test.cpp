// SPDX-License-Identifier: Apache-2.0
// The policies on the examples of other systems: Cerebro's technical report (2020) and MADlib's rotation.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <numeric>
#include <set>
#include <tuple>

#include "core/rng.hpp"
#include "schedule/policy.hpp"
#include "schedule/shortest_shop.hpp"
#include "schedule/simulate.hpp"

namespace hopscotch {
namespace open_shop_test {

using Units = std::vector<double>;

// One epoch of trials with these units; every trainer has one shard.
Simulation simulation(std::string_view policy, Units const& units, int trainers, int seed = 0, double jitter = 0) {
    std::vector<TrialCost> trials;
    for (double const unit : units) trials.push_back({TrialId(trials.size()), unit, 0, 1});
    SimulationOptions options;
    options.seed = static_cast<std::uint64_t>(seed);
    options.jitter = jitter;
    return simulate(policy_named(policy), trials, make_owners(trainers, trainers, std::ssize(units)), options);
}

double makespan(std::string_view policy, Units const& units, int trainers, int seed = 0, double jitter = 0) {
    return simulation(policy, units, trainers, seed, jitter).makespan;
}

double bound(Units const& units, int trainers) {
    return std::max(trainers * std::ranges::max(units), std::accumulate(units.begin(), units.end(), 0.0));
}

double ratio(std::string_view policy, Units const& units, int trainers, int seeds = 1, double jitter = 0) {
    double sum = 0;
    for (int seed = 0; seed < seeds; ++seed) sum += makespan(policy, units, trainers, seed, jitter);
    return sum / seeds / bound(units, trainers);
}

// Figure 5: one epoch costs 6, 3, 3, 3, 6 on three trainers.
TEST(OpenShop, ToyScheduleOfTheTechnicalReport) {
    Units const units{2, 1, 1, 1, 2};
    EXPECT_DOUBLE_EQ(bound(units, 3), 7);
    std::vector<std::vector<double>> costs;
    for (double const unit : units) costs.emplace_back(3, unit);
    EXPECT_DOUBLE_EQ(ShortestShop(costs).makespan(), 7);
    EXPECT_DOUBLE_EQ(makespan("lrtf", units, 3), 7);
    std::set<double> random;
    for (int seed = 0; seed < 300; ++seed) random.insert(makespan("random", units, 3, seed));
    EXPECT_EQ(random, (std::set<double>{7, 8, 9}));
}

// TR20, table 7: MFLOPs of 35 networks, and the speeds of four GPUs in TFLOP/s.
constexpr std::array k_networks{727.,   724.,   837.,  360.,  727.,   2000., 3000.,  2000., 2000., 2000.,  16000., 16000.,
                                20000., 2000.,  2000., 4000., 4000.,  8000., 11000., 4000., 8000., 16000., 6000.,  4000.,
                                8000.,  11000., 4000., 8000., 21000., 2000., 3000.,  8000., 3000., 4000.,  579.};
constexpr std::array k_speeds{12.1, 5.6, 11.3, 18.7};

Units figure_6(int trials, int trainers, bool equal, int instance) {
    Rng rng(stream_key(11, Purpose::synthetic, {trials, trainers, instance}));
    double const speed = k_speeds[rng.below(4)];
    Units out;
    for (int t = 0; t < trials; ++t)
        out.push_back(equal ? 1 : k_networks[rng.below(static_cast<std::uint32_t>(k_networks.size()))] / speed / trainers);
    return out;
}

TEST(OpenShop, FigureSixOfTheTechnicalReport) {
    double mixed = 0;  // lrtf, mean of the four rows
    for (auto const& [trials, trainers, equal] : {std::tuple{16, 8, true},
                                                  {16, 16, true},
                                                  {256, 8, true},
                                                  {256, 16, true},
                                                  {16, 8, false},
                                                  {16, 16, false},
                                                  {256, 8, false},
                                                  {256, 16, false}}) {
        int const instances = equal ? 1 : trials == 16 ? 200 : 50;
        double random = 0, lrtf = 0, planned = 0, worst = 0;
        for (int i = 0; i < instances; ++i) {
            auto const units = figure_6(trials, trainers, equal, i);
            double const each = ratio("lrtf", units, trainers);
            worst = std::max(worst, each);
            lrtf += each / instances;
            random += ratio("random", units, trainers, equal ? 20 : 1) / instances;
            planned += ratio("planned", units, trainers) / instances;
        }
        std::cout << (equal ? "equal " : "mixed ") << trials << " x " << trainers << ": random " << random << ", lrtf "
                  << lrtf << " (worst " << worst << "), planned " << planned << "\n";
        EXPECT_LE(lrtf, equal ? 1.001 : 1.0075);
        mixed += equal ? 0 : lrtf / 4;
        if (!equal) continue;
        EXPECT_LE(planned, 1.001);
        EXPECT_GE(random, trials == 16 ? 1.03 : 1);
    }
    EXPECT_LE(mixed, 1.005);
}

// A plan of 4096 units takes milliseconds, because a decision looks at few of the 256 trials.
TEST(OpenShop, ADecisionLooksAtFewTrials) {
    constexpr int trials = 256, trainers = 16;
    auto const looks = simulation("lrtf", figure_6(trials, trainers, false, 0), trainers).looks;
    std::cout << "256 x 16: " << looks << " looks\n";
    EXPECT_LE(looks, 10 * trials * trainers);
}

// 38 trials of 1 and 10 of 7.942693. Published: a ring is 1.53, 2.21, 2.43 and 2.73 times as long as a random order.
TEST(OpenShop, ARingWithABarrierWaitsForTheLongest) {
    Units units(38, 1.0);
    units.insert(units.end(), 10, 7.942693);
    for (auto const& [trainers, published] : {std::pair{2, 1.53}, {4, 2.21}, {6, 2.43}, {8, 2.73}}) {
        double const ring = ratio("ring", units, trainers, 100), random = ratio("random", units, trainers, 20);
        double const lrtf = ratio("lrtf", units, trainers);
        std::cout << trainers << " trainers: ring " << ring << ", random " << random << ", lrtf " << lrtf
                  << " of the bound; ring / random " << ring / random << " (published " << published << ")\n";
        EXPECT_NEAR(ring / random, published, 0.05 * published);
        EXPECT_LE(lrtf, 1.005);
    }
}

// Equal trials on as many trainers, with jitter: who takes whatever waits breaks the Latin square.
TEST(OpenShop, LongestRemainingTimeFirstWaitsForTheTrialThatIsAboutToCome) {
    for (int const trainers : {4, 8, 16, 32}) {
        Units const units(static_cast<std::size_t>(trainers), 1.0);
        double const lrtf = ratio("lrtf", units, trainers, 20, 0.01), random = ratio("random", units, trainers, 20, 0.01);
        double const planned = ratio("planned", units, trainers, 20, 0.01);
        std::cout << trainers << " x " << trainers << ", jitter 1 %: lrtf " << lrtf << ", planned " << planned << ", random "
                  << random << "\n";
        EXPECT_LE(lrtf, planned + 0.005);
    }
}

TEST(OpenShop, NoPolicyBeatsTheShortestSchedule) {
    Rng rng(10);
    for (int instance = 0; instance < 30; ++instance) {
        int const trainers = 2 + static_cast<int>(rng.below(2));
        Units units(2 + rng.below(2));
        for (auto& unit : units) unit = 1 + rng.below(9);
        std::vector<std::vector<double>> costs;
        for (double const unit : units) costs.emplace_back(static_cast<std::size_t>(trainers), unit);
        double const shortest = ShortestShop(costs).makespan();
        EXPECT_GE(shortest, bound(units, trainers) - 1e-9);
        for (auto const policy : policy_names()) EXPECT_GE(makespan(policy, units, trainers), shortest - 1e-9) << policy;
    }
}

}  // namespace open_shop_test
}  // namespace hopscotch
