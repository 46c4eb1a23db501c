// SPDX-License-Identifier: Apache-2.0
// Properties of `planned` over random instances.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "schedule/policy.hpp"
#include "schedule/simulate.hpp"

namespace hopscotch {
namespace simulate_test {

Policy const& k_planned = policy_named("planned");

constexpr std::int64_t k_all = 1'000'000;

std::vector<TrialCost> trials_of(int n, double sigma, std::int64_t seed, int epochs, double validation = 0) {
    Rng rng(stream_key(static_cast<std::uint64_t>(seed), Purpose::synthetic, {n}));
    std::vector<TrialCost> out;
    for (int t = 0; t < n; ++t) {
        double const unit = std::exp(sigma * rng.normal());
        out.push_back({TrialId(t), unit, validation * unit, epochs});
    }
    return out;
}

struct Ratio {
    double mean = 0, worst = 0;
};

Ratio ratio(int trainers, int trials, double sigma, int seeds, std::int64_t in_flight = k_all) {
    auto const owners = make_owners(trainers, trainers, trials);
    Ratio out;
    for (int seed = 0; seed < seeds; ++seed) {
        auto const costs = trials_of(trials, sigma, seed, 5);
        double const r = simulate(k_planned, costs, owners, {in_flight}).makespan / owners_bound(k_planned, costs, owners);
        out.mean += r / seeds;
        out.worst = std::max(out.worst, r);
    }
    return out;
}

// The numbers the design promises: no idle trainers without any barrier.
TEST(Planned, MakespanIsNearTheBound) {
    for (auto const& [trainers, trials] : {std::pair{8, 8}, {8, 32}, {64, 128}}) {
        auto const equal = ratio(trainers, trials, 0, 1);
        auto const mixed = ratio(trainers, trials, 0.5, 100);
        auto const windowed = ratio(trainers, trials, 0.5, 30, 4 * trainers);
        std::cout << trainers << " trainers, " << trials << " trials: equal " << equal.worst << ", lognormal mean "
                  << mixed.mean << " worst " << mixed.worst << ", 4 per trainer in flight " << windowed.mean << "\n";
        EXPECT_LE(equal.worst, 1.001);
        EXPECT_LE(mixed.mean, 1.03);
        EXPECT_LE(windowed.mean, 1.03);
    }
}

TEST(Planned, ToyScheduleOfFiveTrialsOnThreeTrainers) {
    // Per epoch 6, 3, 3, 3, 6 on three trainers: units of 2, 1, 1, 1, 2; every trainer has 7 to do in an epoch. With free
    // orders one epoch takes 7. Round the ring it cannot: trainer 2 begins with trial 2 and only stays busy if trial 1 comes
    // next and then trial 3, which holds trial 4 on trainer 1 until 4 and trial 0 until 5: 8. Without a barrier between
    // epochs that one second is not lost again and again.
    for (int epochs : {1, 2, 5, 10}) {
        std::vector<TrialCost> costs;
        for (double unit : {2, 1, 1, 1, 2}) costs.push_back({TrialId(costs.size()), unit, 0, epochs});
        auto const owners = make_owners(3, 3, 5);
        EXPECT_DOUBLE_EQ(owners_bound(k_planned, costs, owners), 7 * epochs);
        EXPECT_LE(simulate(k_planned, costs, owners).makespan, 7 * epochs + 1) << epochs << " epochs";
    }
}

struct Instance {
    int shards, trainers;
    std::int64_t in_flight;
    std::vector<TrialCost> trials;
    OwnerTable owners;
};

Instance random_instance(std::int64_t seed) {
    Rng rng(stream_key(7, Purpose::synthetic, {seed}));
    Instance out;
    out.shards = 1 + static_cast<int>(rng.below(9));
    out.trainers = 1 + static_cast<int>(rng.below(9));
    int const n = 1 + static_cast<int>(rng.below(20));
    out.in_flight = 1 + rng.below(12);
    out.trials = trials_of(n, 1.0, seed, 1, rng.below(2) == 0 ? 0.0 : 0.4);
    for (auto& trial : out.trials) trial.epochs = 1 + static_cast<int>(rng.below(3));
    out.owners = make_owners(out.shards, out.trainers, n);
    return out;
}

TEST(Planned, EveryUnitOnceInOrderAndNothingOverlaps) {
    for (int seed = 0; seed < 300; ++seed) {
        auto const in = random_instance(seed);
        std::map<TrialId, std::vector<SimulatedUnit>> of_trial;
        std::map<TrainerId, double> trainer_free;
        double busy = 0;
        auto const out = simulate(k_planned, in.trials, in.owners, {in.in_flight}, [&](SimulatedUnit const& unit) {
            EXPECT_GE(unit.start, trainer_free[unit.trainer]);  // exclusivity of the trainer
            trainer_free[unit.trainer] = unit.end;
            busy += unit.end - unit.start;
            of_trial[unit.trial].push_back(unit);
        });
        ASSERT_EQ(of_trial.size(), in.trials.size());
        for (auto const& trial : in.trials) {
            auto const& units = of_trial[trial.trial];
            int const per_lap = in.shards + (trial.validation > 0 ? 1 : 0);
            ASSERT_EQ(units.size(), static_cast<std::size_t>(per_lap * trial.epochs));
            for (std::size_t i = 0; i < units.size(); ++i) {
                EXPECT_EQ(units[i].epoch, static_cast<int>(i) / per_lap);
                EXPECT_EQ(units[i].step, static_cast<int>(i) % per_lap);
                auto const shard = planned_shard(trial.trial, units[i].step == in.shards ? 0 : units[i].step, in.shards);
                EXPECT_EQ(units[i].trainer, in.owners.of(shard));
                EXPECT_TRUE(i == 0 || units[i].start >= units[i - 1].end);  // exclusivity of the trial
            }
        }
        double const bound = owners_bound(k_planned, in.trials, in.owners);
        EXPECT_GE(out.makespan, bound * (1 - 1e-12));
        EXPECT_NEAR(out.busy, busy, 1e-9 * busy);
        EXPECT_EQ(out.admitted.size(), in.trials.size());
    }
}

TEST(Planned, NeverMoreInFlightThanAllowed) {
    for (int seed = 0; seed < 100; ++seed) {
        auto const in = random_instance(seed);
        std::vector<SimulatedUnit> units;
        simulate(k_planned, in.trials, in.owners, {in.in_flight}, [&](SimulatedUnit const& unit) { units.push_back(unit); });
        std::map<TrialId, std::pair<double, double>> span;
        for (auto const& unit : units) {
            auto [at, isnew] = span.try_emplace(unit.trial, unit.start, unit.end);
            at->second.second = std::max(at->second.second, unit.end);
        }
        for (auto const& unit : units) {
            std::int64_t alive = 0;
            for (auto const& [id, life] : span) alive += life.first <= unit.start && life.second > unit.start ? 1 : 0;
            EXPECT_LE(alive, in.in_flight);
        }
    }
}

TEST(Planned, LongestFirstTiesByIdAndValidationBeforeTraining) {
    std::vector<TrialCost> const costs{
        {TrialId(0), 1, 0, 1}, {TrialId(1), 3, 0, 1}, {TrialId(2), 1, 0, 5}, {TrialId(3), 1, 0, 1}};
    auto const order = simulate(k_planned, costs, make_owners(1, 1, 4), {2}).admitted;
    EXPECT_EQ(order, (std::vector{TrialId(2), TrialId(1), TrialId(0), TrialId(3)}));
    std::vector<TrialId> ran;
    std::vector<TrialCost> const two{{TrialId(0), 2, 1, 1}, {TrialId(1), 1, 1, 1}};
    simulate(k_planned, two, make_owners(1, 1, 2), {}, [&](SimulatedUnit const& unit) { ran.push_back(unit.trial); });
    EXPECT_EQ(ran, (std::vector{TrialId(0), TrialId(0), TrialId(1), TrialId(1)}));
    EXPECT_THROW(simulate(k_planned, two, make_owners(1, 1, 2), {0}), Error);
    EXPECT_DOUBLE_EQ(simulate(k_planned, {}, make_owners(1, 1, 2), {1}).makespan, 0);
}

TEST(Simulate, ThePartOfALongRunHasItsRatio) {
    auto trials = trials_of(20, 0.5, 1, 300, 0.1);
    for (std::size_t i = 0; i < trials.size(); i += 2) trials[i].epochs = 5;
    auto const owners = make_owners(8, 4, 1);
    auto const first = first_laps(trials, 8, 8'000);
    std::int64_t units = 0, one_more = 0;
    for (std::size_t i = 0; i < trials.size(); ++i) {
        units += 8 * first[i].epochs;
        one_more += 8 * std::min(trials[i].epochs, first[1].epochs + 1);
        EXPECT_EQ(first[i].epochs, std::min(trials[i].epochs, first[1].epochs));
    }
    EXPECT_LE(units, 8'000);
    EXPECT_GT(one_more, 8'000);
    auto const ratio = [&](auto const& some) {
        return simulate(k_planned, some, owners).makespan / lower_bound(some, owners);
    };
    EXPECT_NEAR(ratio(first), ratio(trials), 0.02);

    EXPECT_EQ(first_laps(trials, 8, 1)[0].epochs, 1) << "at least one";
    EXPECT_EQ(first_laps(trials, 8, k_all)[1].epochs, 300) << "a short run is simulated as a whole";
    EXPECT_EQ(first_laps({}, 8, k_all).size(), 0u);
    EXPECT_DOUBLE_EQ(work_of(std::vector<TrialCost>{{TrialId(0), 2, 3, 5}}, 4), 5 * (4 * 2 + 3));
}

}  // namespace simulate_test
}  // namespace hopscotch
