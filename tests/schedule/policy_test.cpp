// SPDX-License-Identifier: Apache-2.0
// The table of policies, and what every policy must keep to.
#include "schedule/policy.hpp"

#include <gtest/gtest.h>

#include <set>

#include "core/error.hpp"
#include "experiment/reader.hpp"

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

}  // namespace policy_test
}  // namespace hopscotch
