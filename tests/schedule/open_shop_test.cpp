// SPDX-License-Identifier: Apache-2.0
// `planned` beside the rules of other systems, on their examples: Cerebro's technical report (2020) and MADlib's rotation.
#include "schedule/open_shop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <tuple>

#include "schedule/planned_cases.hpp"
#include "schedule/shortest_shop.hpp"

namespace hopscotch {
namespace open_shop_test {

using Costs = std::vector<std::vector<double>>;

Costs same_everywhere(std::vector<double> const& units, std::size_t trainers) {
    Costs out;
    for (double const unit : units) out.emplace_back(trainers, unit);
    return out;
}

double mean_ratio(Costs const& costs, ShopRule rule, int seeds) {
    OpenShop const shop(costs);
    double sum = 0;
    for (int seed = 0; seed < seeds; ++seed) {
        Rng rng(stream_key(5, Purpose::synthetic, {seed}));
        sum += OpenShop::makespan(shop.schedule(rule, rng)) / shop.bound() / seeds;
    }
    return sum;
}

// Figure 5: one epoch costs 6, 3, 3, 3, 6 on three trainers.
TEST(OpenShop, ToyScheduleOfTheTechnicalReport) {
    auto const costs = same_everywhere({2, 1, 1, 1, 2}, 3);
    EXPECT_DOUBLE_EQ(OpenShop(costs).bound(), 7);
    EXPECT_DOUBLE_EQ(ShortestShop(costs).makespan(), 7);
    std::set<double> random;
    for (int seed = 0; seed < 300; ++seed) {
        Rng rng(stream_key(6, Purpose::synthetic, {seed}));
        random.insert(OpenShop::makespan(OpenShop(costs).schedule(ShopRule::random, rng)));
    }
    EXPECT_EQ(random, (std::set<double>{7, 8, 9}));
}

// Equal trials: a random order is 5 to 17 % longer than the bound, a Latin square is not.
TEST(OpenShop, EqualTrialsOnAsManyTrainersOrHalfAsMany) {
    for (auto const& [trials, trainers, low, high] :
         {std::tuple{16, 8, 1.03, 1.10}, {16, 16, 1.12, 1.20}, {32, 32, 1.08, 1.25}, {256, 8, 1.0, 1.005}}) {
        Rng rng(8);  // no two units end at the very same time
        Costs costs(static_cast<std::size_t>(trials), std::vector<double>(static_cast<std::size_t>(trainers)));
        for (auto& row : costs)
            for (auto& cost : row) cost = 1 + 1e-4 * rng.uniform();
        double const random = mean_ratio(costs, ShopRule::random, 10);
        PlannedCase const in{trainers, trainers, trials, 1};
        auto const planned = simulate(policy_named("planned"), costs_of(in, 0, 0), make_owners(trainers, trainers, trials));
        std::cout << trials << " trials on " << trainers << " trainers: random " << random << ", longest remaining "
                  << mean_ratio(costs, ShopRule::lrtf, 10) << ", planned " << planned.makespan / trials << "\n";
        EXPECT_GE(random, low);
        EXPECT_LE(random, high);
        EXPECT_LE(planned.makespan / trials, 1.001);
    }
}

// 38 trials of 1 and 10 of 7.942693. Published: a ring is 1.53, 2.21, 2.43 and 2.73 times as long as a random order.
TEST(OpenShop, ARingWithABarrierWaitsForTheLongest) {
    std::vector<double> units(38, 1.0);
    units.insert(units.end(), 10, 7.942693);
    for (auto const& [trainers, published] : {std::pair{2, 1.53}, {4, 2.21}, {6, 2.43}, {8, 2.73}}) {
        auto const costs = same_everywhere(units, static_cast<std::size_t>(trainers));
        double const ring = mean_ratio(costs, ShopRule::ring, 200), random = mean_ratio(costs, ShopRule::random, 20);
        double const lrtf = mean_ratio(costs, ShopRule::lrtf, 5);
        std::cout << trainers << " trainers: ring " << ring << ", random " << random << ", longest remaining " << lrtf
                  << " of the bound; ring / random " << ring / random << " (published " << published << ")\n";
        EXPECT_NEAR(ring / random, published, 0.05 * published);
        EXPECT_LE(lrtf, 1.005);
    }
}

TEST(OpenShop, EveryRuleTrainsEveryUnitOnceAndNothingOverlaps) {
    Rng rng(9);
    for (int instance = 0; instance < 10000; ++instance) {
        auto const trials = 1 + rng.below(7), trainers = 1 + rng.below(5);
        Costs costs(trials, std::vector<double>(trainers));
        for (auto& row : costs)
            for (auto& cost : row) cost = 1 + rng.below(9);
        OpenShop const shop(costs);
        for (auto const rule : {ShopRule::random, ShopRule::lrtf, ShopRule::ring}) {
            auto tasks = shop.schedule(rule, rng);
            std::ranges::sort(tasks, {}, &ShopTask::start);
            std::set<std::pair<std::size_t, std::size_t>> seen;
            std::vector<double> trial(trials), trainer(trainers);
            for (auto const& task : tasks) {
                EXPECT_TRUE(seen.insert({task.trial, task.trainer}).second);
                EXPECT_GE(task.start, std::max(trial[task.trial], trainer[task.trainer]));
                trial[task.trial] = trainer[task.trainer] = task.end;
            }
            ASSERT_EQ(seen.size(), static_cast<std::size_t>(trials) * trainers);
            ASSERT_GE(OpenShop::makespan(tasks), shop.bound() - 1e-9);
        }
    }
}

TEST(OpenShop, NoRuleBeatsTheShortestSchedule) {
    Rng rng(10);
    for (int instance = 0; instance < 30; ++instance) {
        Costs costs(2 + rng.below(2), std::vector<double>(2 + rng.below(2)));
        for (auto& row : costs)
            for (auto& cost : row) cost = 1 + rng.below(9);
        double const shortest = ShortestShop(costs).makespan();
        EXPECT_GE(shortest, OpenShop(costs).bound() - 1e-9);
        for (auto const rule : {ShopRule::random, ShopRule::lrtf, ShopRule::ring})
            EXPECT_GE(OpenShop::makespan(OpenShop(costs).schedule(rule, rng)), shortest - 1e-9);
    }
}

}  // namespace open_shop_test
}  // namespace hopscotch
