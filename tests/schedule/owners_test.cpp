// SPDX-License-Identifier: Apache-2.0
// Owners by speed, shards that several trainers hold, and the makespans that they are for.
#include "schedule/owners.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <map>
#include <numeric>
#include <set>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "schedule/in_flight.hpp"
#include "schedule/lap.hpp"
#include "schedule/pace.hpp"
#include "schedule/policy.hpp"
#include "schedule/routes.hpp"
#include "schedule/simulate.hpp"

namespace hopscotch {
namespace owners_test {

Policy const& k_planned = policy_named("planned");

double sum_of(std::vector<double> const& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

std::vector<double> random_speeds(Rng& rng, int trainers) {
    std::vector<double> out;
    for (int w = 0; w < trainers; ++w) out.push_back(0.2 + 0.8 * rng.uniform());
    return out;
}

// Calls check(table, request) for many requests: equal and random speeds, of living trainers and with some lost ones (0),
// few and many shards, trials and trainers.
template <class Check>
void with_tables(OwnersBy by, Check const& check) {
    Rng rng(stream_key(11, Purpose::synthetic, {1}));
    for (int shards : {1, 2, 3, 5, 8, 12, 31})
        for (int trainers : {1, 2, 3, 4, 7, 9})
            for (std::int64_t trials : {std::int64_t{1}, std::int64_t{100}})
                for (bool const equal : {true, false})
                    for (bool const lost : {false, true}) {
                        OwnersRequest request{shards, trials, std::vector<double>(static_cast<std::size_t>(trainers), 1),
                                              by};
                        if (!equal) request.speed = random_speeds(rng, trainers);
                        for (std::size_t w = 1; lost && w + 1 < request.speed.size(); w += 2) request.speed[w] = 0;
                        check(plan_owners(request), request);
                    }
}

TEST(Shares, AreInProportionToSpeed) {
    with_tables(OwnersBy::shares, [](OwnerTable const& table, OwnersRequest const& request) {
        ASSERT_EQ(table.owner.size(), static_cast<std::size_t>(request.shards));
        auto const loads = table.loads();
        ASSERT_EQ(loads.size(), request.speed.size());
        EXPECT_NEAR(sum_of(loads), request.shards, 1e-9);
        EXPECT_LE(table.replicas(), std::ssize(request.speed) - 1) << "at most one cut a trainer";
        auto const speed = table.speed.empty() ? std::vector<double>(request.speed.size(), 1) : table.speed;
        EXPECT_LE(stretch(table, speed), 1.05) << request.shards << " shards, " << request.speed.size() << " trainers";
        for (std::size_t w = 0; w < loads.size(); ++w) {
            auto const held = static_cast<double>(table.shards_of(TrainerId(w)).size());
            EXPECT_LE(loads[w], held + 1e-9);
            EXPECT_LE(held, std::ceil(loads[w]) + 2) << "a piece of the line";
            if (request.speed[w] == 0) {
                EXPECT_EQ(held, 0) << "it is lost";
            }
        }
    });
}

TEST(Shares, OneHolderTrainsAUnitAndEachGetsItsPart) {
    with_tables(OwnersBy::shares, [](OwnerTable const& table, OwnersRequest const& request) {
        constexpr int k_trials = 40, k_laps = 25;
        bool const only_homes = request.shards == 1;  // the only shard is the first: the same trainer in every epoch
        std::vector<double> trained(request.speed.size());
        for (int trial = 0; trial < k_trials; ++trial)
            for (int epoch = 0; epoch < k_laps; ++epoch)
                for (int s = 0; s < request.shards; ++s) {
                    auto const trainer = table.trains({TrialId(trial), epoch}, 1, ShardId(s));
                    auto const held = table.shards_of(trainer);
                    ASSERT_TRUE(std::ranges::count(held, ShardId(s)) == 1) << "it does not hold the shard";
                    trained[trainer.index()] += 1.0 / (k_trials * k_laps);
                }
        auto const loads = table.loads();
        for (std::size_t w = 0; w < loads.size(); ++w) EXPECT_NEAR(trained[w], loads[w], only_homes ? 0.06 : 0.02);
    });
}

TEST(Shares, InEveryLapATrainerTrainsFloorOrCeilOfItsPart) {
    with_tables(OwnersBy::shares, [](OwnerTable const& table, OwnersRequest const& request) {
        auto const loads = table.loads();
        for (int trial = 0; trial < 20; ++trial) {
            std::vector<int> units(loads.size());
            for (int s = 0; s < request.shards; ++s) ++units[table.trains({TrialId(trial), 3}, 1, ShardId(s)).index()];
            for (std::size_t w = 0; w < loads.size(); ++w) {
                EXPECT_GE(units[w], static_cast<int>(std::floor(loads[w] - 1e-9)));
                EXPECT_LE(units[w], static_cast<int>(std::ceil(loads[w] + 1e-9)));
            }
        }
    });
}

TEST(Shares, TheHomeOfATrialIsTheSameInEveryEpochAndHomesAreSpread) {
    auto const table = plan_owners({8, 64, std::vector<double>(7, 1), OwnersBy::shares});
    EXPECT_EQ(table.replicas(), 6);
    std::vector<int> homes(7);
    for (int trial = 0; trial < 56; ++trial) {
        ShardId const first(trial % 8);
        auto const home = table.trains({TrialId(trial), 0}, 0, first);
        for (int epoch = 1; epoch < 9; ++epoch) {
            EXPECT_EQ(table.trains({TrialId(trial), epoch}, 0, first), home);
            EXPECT_EQ(table.trains({TrialId(trial), epoch}, 8, first), home) << "the validation";
        }
        ++homes[home.index()];
    }
    for (auto const each : homes) EXPECT_NEAR(each, 8, 1);
}

TEST(Shares, ThereAreNoneWhereWholeShardsDo) {
    for (auto const& [shards, trainers] : {std::pair{8, 4}, {8, 8}, {12, 3}, {100, 10}, {5, 1}})
        for (std::int64_t trials : {std::int64_t{1}, std::int64_t{100}}) {
            std::vector<double> speed(static_cast<std::size_t>(trainers), 1);
            auto const table = plan_owners({shards, trials, speed, OwnersBy::shares});
            EXPECT_EQ(table, make_owners(shards, trainers, trials));
            speed.front() = 0.95;
            EXPECT_EQ(plan_owners({shards, trials, speed, OwnersBy::shares}), table) << "a difference within the noise";
        }
    EXPECT_EQ(plan_owners({8, 9, {1, 0.5}, OwnersBy::equal}), make_owners(8, 2, 9));
}

TEST(Whole, NoOtherWholeShardsAreBetter) {
    with_tables(OwnersBy::whole, [](OwnerTable const& table, OwnersRequest const& request) {
        EXPECT_EQ(table.replicas(), 0);
        auto const loads = table.loads();
        if (table.speed.empty()) return;
        auto const slowest = stretch(table, table.speed) * request.shards / sum_of(table.speed);
        for (std::size_t w = 0; w < loads.size(); ++w)
            EXPECT_GE((loads[w] + 1) / table.speed[w], slowest - 1e-9) << "one more shard here, one less there";
    });
    EXPECT_EQ(plan_owners({8, 9, {1, 1, 1, 0.5}, OwnersBy::whole}).loads(), (std::vector<double>{3, 2, 2, 1}));
}

TEST(Owners, ALostTrainersShareGoesToTheOtherHolder) {
    auto table = plan_owners({3, 9, {1, 1}, OwnersBy::shares});
    EXPECT_EQ(table.loads(), (std::vector<double>{1.5, 1.5}));
    auto const rest = without(table, TrainerId(1), {TrainerId(0)});
    EXPECT_EQ(rest.loads(), (std::vector<double>{3, 0}));
    EXPECT_EQ(rest.replicas(), 0);
    table = plan_owners({8, 9, std::vector<double>(7, 1), OwnersBy::shares});
    for (int lost = 0; lost < 7; ++lost) {
        std::vector<TrainerId> heirs;
        for (int w = 0; w < 7; ++w)
            if (w != lost) heirs.emplace_back(w);
        auto const left = without(table, TrainerId(lost), heirs);
        EXPECT_NEAR(sum_of(left.loads()), 8, 1e-9);
        EXPECT_TRUE(left.shards_of(TrainerId(lost)).empty());
        for (int s = 0; s < 8; ++s) EXPECT_NE(left.of(ShardId(s)), TrainerId(lost));
    }
}

// Owners by speed after a loss, and then more losses: no one that is lost ever holds a shard again.
TEST(Owners, TheLostHoldNothingAfterMovesAndMoreLosses) {
    for (int shards : {3, 8, 13}) {
        auto table = plan_owners({shards, 9, {1, 0, 1, 0.7, 1}, OwnersBy::shares});
        table.lost = {TrainerId(1)};
        for (auto const& [lost, heirs] :
             {std::pair(2, std::vector{TrainerId(0), TrainerId(3), TrainerId(4)}),
              std::pair(0, std::vector{TrainerId(3), TrainerId(4)}), std::pair(4, std::vector{TrainerId(3)})}) {
            table = without(table, TrainerId(lost), heirs);
            EXPECT_NEAR(sum_of(table.loads()), shards, 1e-9);
            for (auto const gone : table.lost) EXPECT_TRUE(table.shards_of(gone).empty()) << gone.value;
        }
    }
}

struct Bar {
    int shards, trials, epochs;
    std::vector<double> speed;
    double validation, most;  // times the machine's bound
};

double ratio(Bar const& bar, OwnersBy by) {
    std::vector<TrialCost> trials;
    for (int t = 0; t < bar.trials; ++t) trials.push_back({TrialId(t), 1, bar.validation, bar.epochs});
    trials = with_routes(trials, plan_routes(k_planned, trials, bar.shards, 7), bar.shards, 7);
    auto const table = choose_owners(k_planned, trials, {bar.shards, bar.trials, bar.speed, by});
    auto const usual = usual_in_flight(static_cast<int>(bar.speed.size()));
    auto const n = choose_in_flight(k_planned, trials, table, {usual, bar.trials}).trials;
    auto machine = table;
    machine.speed = bar.speed;
    return simulate(k_planned, trials, table, {n, k_usual_hop, k_usual_jitter, 1, QueueRule::by_units, bar.speed}).makespan /
           lower_bound(trials, machine);
}

TEST(Planned, NoTrainerIsIdleBecauseOfItsSpeedOrOfOddCounts) {
    std::vector<double> const slow{1, 1, 0.5, 1}, seven(7, 1);
    for (auto const& bar : {Bar{32, 16, 5, slow, 0, 1.05}, Bar{32, 16, 5, slow, 1, 1.05}, Bar{8, 16, 5, slow, 0, 1.08},
                            Bar{8, 28, 5, seven, 0, 1.05}, Bar{8, 28, 5, seven, 1, 1.07}, Bar{8, 64, 5, seven, 0.2, 1.05},
                            Bar{4, 32, 5, seven, 0, 1.07}, Bar{50, 64, 5, seven, 0.2, 1.02}}) {
        auto const equal = ratio(bar, OwnersBy::equal), whole = ratio(bar, OwnersBy::whole);
        auto const shares = ratio(bar, OwnersBy::shares);
        std::cout << bar.shards << " shards, " << bar.speed.size() << " trainers, " << bar.trials << " trials: equal "
                  << equal << ", whole " << whole << ", shares " << shares << "\n";
        EXPECT_LE(shares, bar.most);
        EXPECT_GE(equal, 1.1);
    }
}

// The published bound is below the makespan of every table.
TEST(LowerBound, IsThatOfTheMachine) {
    auto const table = plan_owners({8, 9, {1, 1, 1, 0.5}, OwnersBy::whole});
    std::vector<TrialCost> trials;
    for (int t = 0; t < 14; ++t) trials.push_back({TrialId(t), 1, 0, 1});
    EXPECT_DOUBLE_EQ(lower_bound(trials, table), 14 * 8 / 3.5);
    EXPECT_DOUBLE_EQ(owners_bound(k_planned, trials, table), 14 * 3);
    EXPECT_DOUBLE_EQ(lower_bound(trials, make_owners(8, 16, 14)), 8) << "of idle trainers, too; here a trial alone";
}

LapRecord lap_of(OwnerTable const& table, LapId const& id, std::vector<double> const& seconds, double noise, Rng& rng) {
    LapRecord out;
    out.trial = id.trial;
    out.epoch = id.epoch;
    for (std::size_t s = 0; s < table.owner.size(); ++s) {
        UnitRecord unit;
        unit.shard = ShardId(s);
        unit.trainer = table.trains(id, 1, unit.shard);
        unit.rows = 100;
        unit.seconds = (1 + id.trial.value % 3) * seconds[unit.trainer.index()] * (1 + noise * rng.uniform());
        if (rng.below(20) == 0) unit.seconds *= 10;  // disturbed
        out.units.push_back(unit);
    }
    return out;
}

TEST(Pace, FindsTheSpeedsOfTrainersInSpiteOfDisturbedUnits) {
    Rng rng(stream_key(3, Purpose::synthetic, {1}));
    std::vector<double> const seconds{1, 2, 1.25, 1, 4};
    for (int shards : {3, 5, 16}) {
        auto const table = plan_owners({shards, 100, std::vector<double>(5, 1), OwnersBy::shares});
        Pace pace;
        EXPECT_FALSE(pace.speed(5));
        for (int lap = 0; lap < 48; ++lap) pace.add(lap_of(table, {TrialId(lap % 12), lap / 12}, seconds, 0.05, rng), 10);
        auto const speed = pace.speed(5);
        ASSERT_TRUE(speed);
        // With 3 shards a lap visits only some of the trainers, and differences look smaller than they are.
        EXPECT_LT((*speed)[4], 0.5);
        for (std::size_t w = 0; w < 5; ++w) EXPECT_LE((*speed)[4], (*speed)[w]);
        for (std::size_t w = 0; w < 5 && shards >= 5; ++w) EXPECT_NEAR((*speed)[w] * seconds[w], 1, 0.1) << w;
    }
}

// Resumed on fewer trainers: checkpoints inside laps bring units of an earlier job, of trainers that there are no more.
TEST(Pace, UnitsOfAnEarlierJobCountNothing) {
    auto const before = make_owners(8, 8, 9), now = make_owners(8, 2, 9);
    Rng rng(3);
    Pace old_units, both, only_new;
    for (int t = 0; t < 6; ++t) {
        auto const old_lap = lap_of(before, {TrialId(t), 0}, {1, 1, 1, 1, 9, 9, 9, 9}, 0, rng);
        auto new_lap = lap_of(now, {TrialId(t), 1}, {1, 2}, 0, rng);
        for (auto& unit : new_lap.units) unit.start_unix_s = 100;
        old_units.add(old_lap, 1);  // clocks of hosts differ: some may still come through
        both.add(old_lap, 1, 50);
        both.add(new_lap, 1, 50);
        only_new.add(new_lap, 1);
    }
    EXPECT_EQ(both.speed(2), only_new.speed(2));
    EXPECT_EQ(both.seconds(5, {1, 0.5}), only_new.seconds(5, {1, 0.5}));
    auto const speed = old_units.speed(2);
    ASSERT_TRUE(speed.has_value());
    EXPECT_EQ(speed->size(), 2U);
    EXPECT_TRUE(std::isfinite(old_units.seconds(5, *speed)));
}

TEST(Pace, UnitsOfOneLapAreOneVisit) {
    Pace pace;
    LapRecord lap;
    for (int const trainer : {0, 1, 0, 1}) {
        UnitRecord unit;
        unit.trainer = TrainerId(trainer);
        unit.rows = 10;
        unit.seconds = 1 + trainer;
        lap.units.push_back(unit);
    }
    for (int laps = 0; laps < 2; ++laps) {
        pace.add(lap, 1);
        EXPECT_FALSE(pace.speed(2)) << "three laps must have visited a trainer";
    }
    pace.add(lap, 1);
    auto const speed = pace.speed(2);
    ASSERT_TRUE(speed);
    EXPECT_DOUBLE_EQ((*speed)[0], 1);
    EXPECT_NEAR((*speed)[1], 0.5, 1e-12);
    EXPECT_DOUBLE_EQ(pace.seconds(12, {1, 0.5}), 12) << "a unit of 1 FLOP takes 1 s on the first trainer";
}

TEST(Pace, ShardsMoveOnlyIfThatIsWorthTwiceTheCost) {
    auto const now = make_owners(8, 4, 100);
    std::vector<double> const slow{1, 1, 0.5, 1}, nearly{1, 1, 0.95, 1};
    auto const planned = [](std::vector<double> const& speed) { return plan_owners({8, 100, speed, OwnersBy::shares}); };
    auto const better = better_owners(now, {planned(slow), 1}, slow, {100, 1});
    ASSERT_TRUE(better);
    EXPECT_NEAR(better->seconds_before, 50, 1e-9);  // half of it on the slow one would take 100 x 2/8 x 2
    EXPECT_NEAR(better->seconds, 100 / 3.5, 1);
    EXPECT_EQ(better->table.version, 2);
    EXPECT_FALSE(better_owners(now, {planned(slow), 11}, slow, {100, 1})) << "gains 21 s, costs 11 s";
    EXPECT_FALSE(better_owners(now, {planned(slow), 1}, slow, {100, 49})) << "one trial alone takes as long";
    EXPECT_FALSE(better_owners(now, {planned(nearly), 0}, nearly, {100, 1})) << "noise";
    EXPECT_FALSE(better_owners(better->table, {planned(slow), 0}, slow, {100, 1})) << "they have moved";
}

// Three bundles of two shards on two groups; the fifth trainer is in no group.
TEST(Groups, TablesOfBundlesAndOfShardsAreOne) {
    auto const groups = make_owners(3, 2, 1);
    auto const members = with_members(groups, 2, 5);
    EXPECT_EQ(groups.owner, (std::vector{TrainerId(0), TrainerId(1), TrainerId(0)}));
    EXPECT_EQ(members.owner,
              (std::vector{TrainerId(0), TrainerId(1), TrainerId(2), TrainerId(3), TrainerId(0), TrainerId(1)}));
    EXPECT_EQ(members.trainers, 5);
    EXPECT_TRUE(members.shards_of(TrainerId(4)).empty());
    EXPECT_EQ(of_groups(members, 2).owner, (std::vector{TrainerId(0), TrainerId(2), TrainerId(0)}));
    for (int trial = 0; trial < 3; ++trial)
        EXPECT_EQ(hops_per_lap(k_planned, {TrialId(trial), 0}, of_groups(members, 2)),
                  hops_per_lap(k_planned, {TrialId(trial), 0}, groups));
    EXPECT_EQ(with_members(groups, 1, 7), groups);
    EXPECT_EQ(of_groups(groups, 1), groups);
}

}  // namespace owners_test
}  // namespace hopscotch
