// SPDX-License-Identifier: Apache-2.0
// Routes of trials, the number in flight, and the makespans that the two make.
#include "schedule/routes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <set>

#include "long_suite.hpp"
#include "schedule/in_flight.hpp"
#include "schedule/planned_cases.hpp"

namespace hopscotch {
namespace routes_test {

Policy const& k_planned = policy_named("planned");

std::vector<std::int32_t> homes_of(RoutePlan const& plan, int trials, int shards, std::int64_t seed) {
    std::vector<std::int32_t> out;
    for (auto const& trial : with_routes(costs_of({1, shards, trials}, 0, 0), plan, shards, seed))
        out.push_back(trial.route.first.value);
    return out;
}

TEST(Routes, HomesArePermutedInEachBlockAsTheSeedSays) {
    std::set<std::vector<std::int32_t>> orders;
    for (int seed = 0; seed < 5; ++seed) {
        auto const homes = homes_of({0, 0}, 24, 8, seed);
        EXPECT_EQ(homes, homes_of({0, 0}, 24, 8, seed));
        for (int block = 0; block < 3; ++block) {
            std::vector<std::int32_t> own(homes.begin() + 8 * block, homes.begin() + 8 * (block + 1));
            EXPECT_EQ(std::set<std::int32_t>(own.begin(), own.end()).size(), 8U);
            orders.insert(own);
        }
    }
    EXPECT_GT(orders.size(), 10U);
    EXPECT_NE(homes_of({0, 0}, 8, 8, 1), homes_of({1, 0}, 8, 8, 1));
    EXPECT_EQ(homes_of({}, 8, 8, 1), std::vector<std::int32_t>(8, -1)) << "t mod S, as in runs of before";
}

TEST(Routes, LongTrialsGoBackward) {
    auto trials = costs_of({8, 8, 120, 2}, 0, 0);
    trials[70].unit = 10;
    auto const routed = with_routes(trials, {-1, 6}, 8, 0);
    for (auto const& trial : routed) EXPECT_EQ(trial.route.direction == Direction::backward, trial.trial == TrialId(70));
    std::vector<std::int32_t> visits;
    for (int step = 0; step < 8; ++step) visits.push_back(planned_shard(TrialId(70), step, 8, {}, routed[70].route).value);
    EXPECT_EQ(visits, (std::vector<std::int32_t>{6, 5, 4, 3, 2, 1, 0, 7}));
    visits.clear();
    for (int step = 0; step < 4; ++step)
        visits.push_back(planned_shard(TrialId(9), step, 4, {1, 2}, {ShardId(3), Direction::backward}).value);
    EXPECT_EQ(visits, (std::vector<std::int32_t>{2, 0, 3, 1})) << "shards held out come last";
}

// Four sizes of network as the last key of a grid, on four shards: in order, all of the largest have one home.
TEST(Routes, AGridDoesNotGiveOneTrainerAllLargeTrials) {
    std::vector<TrialCost> trials;
    for (int t = 0; t < 64; ++t) {
        double const unit = 1 << t % 4;
        trials.push_back({TrialId(t), unit, 0.8 * unit, 2});  // validation: a fifth of training
    }
    auto const owners = make_owners(4, 4, 64);
    auto const bound = [&](std::vector<TrialCost> const& each) {
        return owners_bound(policy_named("planned"), each, owners);
    };
    auto const planned = with_routes(trials, plan_routes(k_planned, trials, 4, 42), 4, 42);
    EXPECT_GT(bound(trials), 1.18 * machine_bound(trials, 4, 4));
    EXPECT_LT(bound(planned), 1.06 * machine_bound(trials, 4, 4));
    EXPECT_LT(mean_makespan(planned, owners, 16), 0.9 * mean_makespan(trials, owners, 16));
}

// The production code, from the costs to the makespan. most: as many states fit.
double planned_ratio(PlannedCase in, std::vector<TrialCost> const& trials, std::int64_t most) {
    auto const routed = with_routes(trials, plan_routes(k_planned, trials, in.shards, 7), in.shards, 7);
    auto const owners = make_owners(in.shards, in.trainers, in.trials);
    auto const usual = usual_in_flight(in.trainers);
    in.in_flight = choose_in_flight(k_planned, routed, owners, {std::min(usual, most), std::max(usual, most)}).trials;
    return mean_ratio(in, routed);
}

TEST(Planned, OneLongTrialAmongMany) {
    PlannedCase const in{8, 8, 120, 2};
    for (std::size_t const which : {0U, 50U, 119U}) {
        auto trials = costs_of(in, 0, 0);
        trials[which].unit = 10;
        double const usual = planned_ratio(in, trials, 0), all = planned_ratio(in, trials, 120);
        std::cout << "trial " << which << " costs 10 times the others: " << usual << ", all in flight: " << all << "\n";
        EXPECT_LE(usual, 1.04);
        EXPECT_LE(all, 1.01);
    }
}

TEST(Planned, CostsThatVary) {
    double sum = 0;
    for (int seed = 0; seed < k_seeds; ++seed)
        sum += planned_ratio({8, 8, 120, 1}, costs_of({8, 8, 120, 1}, 1.0, seed), 120) / k_seeds;
    std::cout << "lognormal costs, sigma 1: " << sum << "\n";
    EXPECT_LE(sum, 1.03);
}

struct Instance {
    PlannedCase in;
    std::vector<TrialCost> trials;
};

Instance random_instance(std::int64_t number) {
    Rng rng(stream_key(77, Purpose::synthetic, {number}));
    Instance out;
    out.in.shards = 1 + static_cast<int>(rng.below(12));
    out.in.trainers = 1 + static_cast<int>(rng.below(static_cast<std::uint32_t>(out.in.shards)));
    out.in.trials = 1 + static_cast<int>(rng.below(rng.below(2) == 0 ? 20 : 80));
    out.in.epochs = 1 + static_cast<int>(rng.below(3));
    double const sigma = std::array{0.0, 0.3, 0.7, 1.0, 1.5}[rng.below(5)];
    out.trials = costs_of(out.in, sigma, number, std::array{0.0, 0.2, 1.0}[rng.below(3)]);
    auto& one = out.trials[rng.below(static_cast<std::uint32_t>(out.in.trials))];
    if (rng.below(4) == 0) one.unit *= 10, one.validation *= 10;
    return out;
}

// Before: homes in order, all forward, four in flight per trainer, and the queue's rule by laps.
TEST(Planned, IsNeverWorseThanWithoutAPlan) {
    double sum = 0, worst = 0;
    int instances = 0, worse = 0;
    for (; instances < (testing::long_suite() ? 500 : 100); ++instances) {
        auto const [in, trials] = random_instance(instances);
        auto const owners = make_owners(in.shards, in.trainers, in.trials);
        double const before = mean_makespan(trials, owners, usual_in_flight(in.trainers), QueueRule::by_laps);
        auto const bound = machine_bound(trials, in.shards, in.trainers);
        double const now = planned_ratio(in, trials, in.trials) * bound / before;
        sum += now;
        worst = std::max(worst, now);
        worse += now > 1.02 ? 1 : 0;
        EXPECT_LE(now, 1.02) << "instance " << instances << ": " << in.trainers << " trainers, " << in.shards << " shards, "
                             << in.trials << " trials, " << in.epochs << " epochs; before " << before / bound;
    }
    std::cout << "over the makespan without a plan: mean " << sum / instances << ", worst " << worst << ", " << worse
              << "\n";
}

TEST(InFlight, TheSmallestNumberThatReachesTheBound) {
    auto const owners = make_owners(8, 8, 120);
    auto equal = costs_of({8, 8, 120, 2}, 0, 0);
    EXPECT_GT(choose_in_flight(k_planned, equal, owners, {8, 120}).trials, 8) << "a second trial each hides the hops";
    EXPECT_LE(choose_in_flight(k_planned, equal, owners, {8, 120}).trials, 32);
    equal[3].unit = 10;
    auto const found = choose_in_flight(k_planned, equal, owners, {32, 120});
    EXPECT_GT(found.trials, 32);
    EXPECT_LE(found.ratio, 1.01);
    EXPECT_GT(found.usual_ratio, 1.2);
    EXPECT_EQ(choose_in_flight(k_planned, equal, owners, {32, 40}).trials, 40) << "no more have room";
    EXPECT_EQ(choose_in_flight(k_planned, costs_of({8, 8, 120, 2}, 0, 0), owners, {3, 3}).trials, 3);
    auto const large = choose_in_flight(k_planned, costs_of({8, 8, 50000, 2}, 0, 0), make_owners(8, 8, 50000), {32, 50000});
    EXPECT_EQ(large.trials, 32) << "too large to simulate";
    EXPECT_EQ(plan_routes(k_planned, costs_of({8, 8, 50000, 2}, 0, 0), 8, 1), k_blind_routes);
}

}  // namespace routes_test
}  // namespace hopscotch
