// SPDX-License-Identifier: Apache-2.0
// The table of policies, and what every policy must keep to.
#include "schedule/policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/rng.hpp"
#include "experiment/reader.hpp"
#include "schedule/simulate.hpp"

namespace hopscotch {
namespace policy_test {

TEST(Policy, AnUnknownNameIsRefusedWithTheKnownOnes) {
    try {
        policy_named("zigzag");
        FAIL();
    } catch (ConfigError const& error) {
        std::string known;
        for (auto const name : policy_names()) known.append(known.empty() ? "" : ", ").append(name);
        EXPECT_EQ(error.what(), "policy \"zigzag\" is unknown (known: " + known + ")");
    }
}

TEST(Policy, TheReaderTakesEachName) {
    for (auto const name : policy_names()) {
        Problems problems("e.json");
        auto const experiment = read_experiment(R"({"data": {"path": "d"}, "model": {"name": "mlp"}, "run": {"dir": "r"},
                                                    "space": {"train.epochs": [1]}, "strategy": {"policy": ")" +
                                                    std::string(name) + "\"}}",
                                                {}, problems);
        EXPECT_EQ(problems.text(), "");
        EXPECT_EQ(policy_named(experiment.strategy.policy).name, name);
    }
}

TEST(Policy, EveryShardOnceALapHeldOutOnesLast) {
    for (auto const name : policy_names())
        for (int shards = 1; shards <= 9; ++shards)
            for (int trial = 0; trial < 2 * shards; ++trial) {
                HeldOut const held_out{trial % 3, 3};
                std::set<ShardId> seen;
                bool held = false;
                for (int step = 0; step < shards; ++step) {
                    auto const shard = policy_named(name).next({TrialId(trial), step, shards, held_out});
                    seen.insert(shard);
                    EXPECT_TRUE(held_out.has(shard) || !held) << name;
                    held = held_out.has(shard);
                }
                EXPECT_EQ(std::ssize(seen), shards) << name;
            }
}

// A policy may decide at run time: the next shard not visited, of a trainer that is free if there is one.
ShardId first_free(NextVisit const& at) {
    if (at.step == 0) return ShardId(at.trial.value % at.shards);
    ShardId out;
    for (int s = at.shards; s-- > 0;) {
        ShardId const shard(s);
        if (std::ranges::find(at.now->visited, shard) != at.now->visited.end()) continue;
        bool const busy = at.now->busy[at.now->owners.of(shard).index()] != 0;
        if (out.value < 0 || !busy) out = shard;
    }
    return out;
}

TEST(Policy, ARunTimePolicySeesVisitedShardsAndBusyTrainers) {
    Policy const policy{"first_free", first_free};
    Rng rng(7);
    std::vector<TrialCost> trials;
    for (int t = 0; t < 6; ++t) trials.push_back({TrialId(t), 1 + 3 * rng.uniform(), 0.5, 2});
    auto const owners = make_owners(4, 4, 6);
    std::map<LapId, std::set<TrainerId>> visited;
    std::map<TrialId, TrainerId> home;
    auto const out = simulate(policy, trials, owners, {.in_flight = 6}, [&](SimulatedUnit const& unit) {
        if (unit.step == 0) home[unit.trial] = unit.trainer;
        if (unit.step < 4)
            visited[{unit.trial, unit.epoch}].insert(unit.trainer);
        else
            EXPECT_EQ(unit.trainer, home[unit.trial]) << "validated elsewhere";
    });
    EXPECT_EQ(visited.size(), 12U);
    for (auto const& [lap, trainers] : visited) EXPECT_EQ(trainers.size(), 4U);
    EXPECT_GE(out.makespan, owners_bound(policy_named("planned"), trials, owners));
}

}  // namespace policy_test
}  // namespace hopscotch
