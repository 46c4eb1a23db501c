// SPDX-License-Identifier: Apache-2.0
// What every policy must keep to, on random clusters: each shard once in each lap, one trainer at a time, one unit at a time
// on a trainer, validation at home, no one starves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/rng.hpp"
#include "schedule/matchmaker.hpp"
#include "schedule/policy.hpp"
#include "schedule/simulate.hpp"

namespace hopscotch {
namespace every_policy_test {

struct Instance {
    std::vector<TrialCost> trials;
    OwnerTable owners;
    SimulationOptions options;
};

Instance random_instance(std::int64_t seed) {
    Rng rng(stream_key(13, Purpose::synthetic, {seed}));
    Instance out;
    int const shards = 1 + static_cast<int>(rng.below(6)), trainers = 1 + static_cast<int>(rng.below(6));
    int const trials = 1 + static_cast<int>(rng.below(8));
    bool const equal = rng.below(3) == 0;
    double const validation = rng.below(2) == 0 ? 0 : 0.4;
    for (int t = 0; t < trials; ++t) {
        double const unit = equal ? 1 : std::exp(rng.normal());
        out.trials.push_back({TrialId(t),
                              unit,
                              validation * unit,
                              equal ? 2 : 1 + static_cast<int>(rng.below(3)),
                              {ShardId(rng.below(static_cast<std::uint32_t>(shards)))}});
    }
    out.owners = make_owners(shards, trainers, trials);
    out.options.in_flight = 1 + rng.below(10);
    out.options.hop = rng.below(2) == 0 ? 0 : 0.1;
    out.options.jitter = rng.below(2) == 0 ? 0 : 0.05;
    out.options.seed = static_cast<std::uint64_t>(seed);
    return out;
}

void check(Policy const& policy, Instance const& in) {
    int const shards = static_cast<int>(in.owners.owner.size());
    std::map<TrainerId, double> trainer_free;
    std::map<TrialId, double> trial_free;
    std::map<LapId, std::map<TrainerId, int>> visits;
    std::map<LapId, int> steps;
    auto const out = simulate(policy, in.trials, in.owners, in.options, [&](SimulatedUnit const& unit) {
        LapId const lap{unit.trial, unit.epoch};
        ASSERT_GE(unit.start, trainer_free[unit.trainer]) << "two units on a trainer";
        ASSERT_GE(unit.start, trial_free[unit.trial]) << "a trial in two places";
        ASSERT_EQ(unit.step, steps[lap]++);
        trainer_free[unit.trainer] = trial_free[unit.trial] = unit.end;
        auto const home = in.owners.of(in.trials[unit.trial.index()].route.first);
        ASSERT_TRUE(unit.step < shards || unit.trainer == home) << "validated elsewhere";
        if (unit.step < shards) ++visits[lap][unit.trainer];
    });
    std::size_t laps = 0;
    for (auto const& trial : in.trials) laps += static_cast<std::size_t>(trial.epochs);
    ASSERT_EQ(visits.size(), laps);
    for (auto const& [lap, trainers] : visits)
        for (int t = 0; t < in.owners.trainers; ++t) {
            auto const owned = std::ssize(in.owners.shards_of(TrainerId(t)));
            auto const found = trainers.find(TrainerId(t));
            ASSERT_EQ(found == trainers.end() ? 0 : found->second, owned);
        }
    double const slack = in.options.jitter == 0 ? 1 - 1e-9 : 0;
    ASSERT_GE(out.makespan, slack * owners_bound(policy, in.trials, in.owners));
}

TEST(EveryPolicy, EveryUnitOnceAndNothingOverlaps) {
    for (auto const name : policy_names())
        for (int seed = 0; seed < 10000 && !::testing::Test::HasFailure(); ++seed) {
            SCOPED_TRACE(::testing::Message() << name << ", seed " << seed);
            check(policy_named(name), random_instance(seed));
        }
}

TEST(EveryPolicy, TheSameSeedGivesTheSameSchedule) {
    for (auto const name : policy_names())
        for (int seed = 0; seed < 50; ++seed) {
            auto const in = random_instance(seed);
            auto const once = simulate(policy_named(name), in.trials, in.owners, in.options);
            EXPECT_EQ(simulate(policy_named(name), in.trials, in.owners, in.options).makespan, once.makespan) << name;
        }
}

// RapidFire's scheduler let a trial that had ended its epoch catch up first, while the others starved.
TEST(EveryPolicy, NoTrialIsMoreThanOneEpochAheadOfAnother) {
    for (auto const name : policy_names())
        for (int const trainers : {1, 2, 3, 4})
            for (int const trials : {2, 4, 7, 12}) {
                std::vector<TrialCost> costs;
                for (int t = 0; t < trials; ++t) costs.push_back({TrialId(t), 1, 0, 5});
                std::vector<int> begun(static_cast<std::size_t>(trials));
                simulate(policy_named(name), costs, make_owners(4, trainers, trials), {}, [&](SimulatedUnit const& unit) {
                    ++begun[unit.trial.index()];
                    EXPECT_LE(std::ranges::max(begun) - std::ranges::min(begun), 2 * 4)
                        << name << ", " << trials << " trials on " << trainers;
                });
            }
}

// Equal trials, two for each trainer: under each policy that chooses trainers, most visits are on another one.
TEST(EveryPolicy, HopsOfALapAreCountedInTheSimulation) {
    for (auto const name : policy_names()) {
        auto const& policy = policy_named(name);
        if (!policy.dispatched()) continue;
        std::vector<TrialCost> costs;
        for (int t = 0; t < 8; ++t) costs.push_back({TrialId(t), 1, 0.3, 5});
        auto const hops = [&](int trainers) {
            return simulated_hops_per_lap(policy, costs, make_owners(8, trainers, 8), 8);
        };
        EXPECT_EQ(hops(1), 0) << name;
        EXPECT_GT(hops(2), 1) << name;
        EXPECT_LT(hops(2), 0.8 * 9) << name;
        EXPECT_GT(hops(8), 7) << name << ": a shard each, so only the way to and from the validation may be none";
        EXPECT_LE(hops(8), 9) << name;
    }
}

// Each time with four times as many trainers and trials. Work that grew with their number would quadruple its growth.
TEST(EveryPolicy, TheWorkOfADecisionGrowsAtMostLikeTheLogarithm) {
    for (auto const name : policy_names()) {
        std::vector<double> looks;
        for (int const trainers : {12, 48, 192}) {
            Rng rng(3);
            std::vector<TrialCost> costs;
            for (int t = 0; t < 4 * trainers; ++t) costs.push_back({TrialId(t), std::exp(0.3 * rng.normal()), 0, 1});
            auto const out = simulate(policy_named(name), costs, make_owners(trainers, trainers, 4 * trainers));
            looks.push_back(static_cast<double>(out.looks) / (4.0 * trainers * trainers));
        }
        EXPECT_LE(looks[2] - looks[1], 2 * (looks[1] - looks[0]) + 0.1) << name << ": " << looks[0] << ", " << looks[1];
        EXPECT_LE(looks[2], 40) << name;
    }
}

// One trainer, equal trials: no one has a second turn before all have had the first.
TEST(EveryPolicy, EqualTrialsTakeTurns) {
    for (auto const name : {"planned", "lrtf"}) {
        std::vector<TrialCost> costs;
        for (int t = 0; t < 4; ++t) costs.push_back({TrialId(t), 1, 0, 2});
        std::vector<int> order;
        simulate(policy_named(name), costs, make_owners(4, 1, 4), {},
                 [&](SimulatedUnit const& unit) { order.push_back(unit.trial.value); });
        ASSERT_EQ(order.size(), 32U) << name;
        for (std::size_t i = 0; i < order.size(); i += 4) {
            std::set<int> const turn(order.begin() + static_cast<std::ptrdiff_t>(i),
                                     order.begin() + static_cast<std::ptrdiff_t>(i) + 4);
            EXPECT_EQ(turn.size(), 4U) << name << ", turn " << i / 4;
        }
    }
}

// The table of one dispatched policy, by hand.
class Table : public ::testing::TestWithParam<std::string_view> {
protected:
    static WaitingLap lap(int trial, int epoch = 0) { return {{TrialId(trial), epoch}, 4, 1, TrainerId(0)}; }
    std::unique_ptr<Matchmaker> make(int trainers) { return policy_named(GetParam()).make(make_owners(4, trainers, 4), 1); }
};

TEST_P(Table, BusyTrainersTakeNothingAndNothingIsLeftAtTheEnd) {
    auto const table = make(2);
    EXPECT_TRUE(table->take(0).empty());
    table->add(lap(7));
    for (int step = 0; step < 4; ++step) {
        auto const matches = table->take(step);
        ASSERT_EQ(matches.size(), 1U);
        EXPECT_EQ(matches.front().trial, TrialId(7));
        EXPECT_TRUE(table->take(step).empty());
        EXPECT_EQ(table->unit_ended(TrialId(7)), step == 3);
    }
    EXPECT_FALSE(table->has(TrialId(7)));
    EXPECT_TRUE(table->take(4).empty());
}

TEST_P(Table, WhatIsRemovedFreesItsTrainerForTheOthers) {
    auto const table = make(1);
    table->add(lap(1));
    table->add(lap(2));
    auto const first = table->take(0);
    ASSERT_EQ(first.size(), 1U);
    EXPECT_TRUE(table->take(0).empty());
    table->remove(first.front().trial);
    table->remove(TrialId(99));
    auto const second = table->take(0);
    ASSERT_EQ(second.size(), 1U);
    EXPECT_NE(second.front().trial, first.front().trial);
    table->add(lap(first.front().trial.value));  // reset: from the beginning
    int units = 0;
    for (auto matches = second; !matches.empty(); matches = table->take(units)) {
        ++units;
        table->unit_ended(matches.front().trial);
    }
    EXPECT_EQ(units, 8);
}

TEST_P(Table, ATrainerThatValidatesTakesNoUnit) {
    auto const table = make(1);
    table->validates(TrainerId(0));
    table->add(lap(1));
    EXPECT_TRUE(table->take(0).empty());
    table->has_validated(TrainerId(0));
    EXPECT_EQ(table->take(0).size(), 1U);
}

// After a resume: the unit that had begun comes first, and the shards before it are not visited again.
TEST_P(Table, AContinuedLapKeepsItsShards) {
    auto const table = make(4);
    auto continued = lap(3);
    continued.visited = {ShardId(2), ShardId(0)};
    continued.bound = ShardId(3);
    table->add(continued);
    std::vector<int> shards;
    for (auto matches = table->take(0); !matches.empty(); matches = table->take(1)) {
        shards.push_back(matches.front().shard.value);
        table->unit_ended(TrialId(3));
    }
    EXPECT_EQ(shards, (std::vector{3, 1}));
}

TEST_P(Table, ShardsHeldOutComeLast) {
    for (int trial = 0; trial < 4; ++trial) {
        auto const table = make(4);
        auto folded = lap(trial);
        folded.held_out = {trial % 2, 2};
        table->add(folded);
        bool held = false;
        int units = 0;
        for (auto matches = table->take(0); !matches.empty(); matches = table->take(1), ++units) {
            bool const now = folded.held_out.has(matches.front().shard);
            EXPECT_TRUE(now || !held);
            held = now;
            table->unit_ended(TrialId(trial));
        }
        EXPECT_EQ(units, 4);
    }
}

INSTANTIATE_TEST_SUITE_P(Dispatched, Table, ::testing::Values("lrtf", "random", "ring"));

TEST(Ring, WaitsForLapsThatAreComing) {
    auto const table = policy_named("ring").make(make_owners(2, 2, 2), 1);
    table->expect(1);
    table->add({{TrialId(0), 0}, 2, 1, TrainerId(0)});
    EXPECT_TRUE(table->take(0).empty());
    table->add({{TrialId(1), 0}, 2, 1, TrainerId(0)});
    EXPECT_EQ(table->take(0).size(), 2U);
    table->unit_ended(TrialId(0));
    EXPECT_TRUE(table->take(1).empty()) << "no barrier";
    table->unit_ended(TrialId(1));
    EXPECT_EQ(table->take(1).size(), 2U);
}

// Its own group never comes: a resumed job's other laps only have to be validated.
TEST(Ring, BeginsWhenNoLapComesAnyMore) {
    auto const table = policy_named("ring").make(make_owners(2, 2, 2), 1);
    table->expect(2);
    table->add({{TrialId(0), 0}, 2, 1, TrainerId(0)});
    EXPECT_TRUE(table->take(0).empty());
    table->expect(1);
    EXPECT_TRUE(table->take(1).empty());
    table->expect(0);
    EXPECT_EQ(table->take(2).size(), 1U);
}

// Trial 0 trains until 10, and then comes to trainer 1. Shortly before that trainer 1 leaves trial 2 to trainer 2, which
// would have no other. If trial 0 is late, trainer 1 takes trial 2.
TEST(Lrtf, WaitsOnlyATenthOfAUnitForTheBetterTrial) {
    auto const table = policy_named("lrtf").make(make_owners(3, 3, 3), 1);
    table->add({{TrialId(0), 0}, 30, 10, TrainerId(0)});
    table->validates(TrainerId(1));
    table->validates(TrainerId(2));
    ASSERT_EQ(table->take(0).size(), 1U);
    table->add({{TrialId(2), 0}, 15, 5, TrainerId(0)});
    table->has_validated(TrainerId(1));
    ASSERT_TRUE(table->take(9.5).empty());
    ASSERT_TRUE(table->ask_the_patient());
    EXPECT_TRUE(table->take(10.5).empty());
    ASSERT_TRUE(table->ask_the_patient());
    auto const late = table->take(11.5);
    ASSERT_EQ(late.size(), 1U);
    EXPECT_EQ(late.front().trial, TrialId(2));
    EXPECT_FALSE(table->ask_the_patient());
}

}  // namespace every_policy_test
}  // namespace hopscotch
