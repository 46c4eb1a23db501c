// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/error.hpp"
#include "schedule/lap.hpp"
#include "schedule/policy.hpp"

namespace hopscotch {
namespace visit_test {

Policy const& k_planned = policy_named("planned");

TEST(PlannedShard, IsALatinSquare) {
    for (int shards : {1, 2, 3, 8, 13})
        for (int block : {0, 1, 5}) {
            for (int t = 0; t < shards; ++t) {
                std::set<ShardId> row;
                std::set<ShardId> column;
                for (int k = 0; k < shards; ++k) {
                    row.insert(planned_shard(TrialId(block * shards + t), k, shards));
                    column.insert(planned_shard(TrialId(block * shards + k), t, shards));
                }
                EXPECT_EQ(row.size(), static_cast<std::size_t>(shards));     // a trial sees every shard once
                EXPECT_EQ(column.size(), static_cast<std::size_t>(shards));  // S trials in a row never meet on a shard
            }
        }
    EXPECT_EQ(planned_shard(TrialId(2), 0, 3), ShardId(2));
    EXPECT_EQ(planned_shard(TrialId(2), 1, 3), ShardId(0));
    EXPECT_EQ(planned_shard(TrialId(2147483647), 2147483647, 3), ShardId((2147483647LL * 2) % 3));
}

TEST(PlannedShard, HeldOutShardsComeLastAndEveryShardIsHeldOutOnce) {
    for (int shards : {2, 3, 8, 13})
        for (int folds = 2; folds <= shards; ++folds)
            for (int trial : {0, 1, 7}) {
                std::multiset<ShardId> held;
                for (int fold = 0; fold < folds; ++fold) {
                    HeldOut const out{fold, folds};
                    std::set<ShardId> visited;
                    bool validates = false;
                    for (int step = 0; step < shards; ++step) {
                        auto const shard = planned_shard(TrialId(trial), step, shards, out);
                        visited.insert(shard);
                        EXPECT_TRUE(out.has(shard) || !validates) << "trains after it has been validated";
                        validates = out.has(shard);
                        if (validates) held.insert(shard);
                    }
                    EXPECT_EQ(visited.size(), static_cast<std::size_t>(shards));
                    EXPECT_TRUE(validates);
                }
                EXPECT_EQ(held.size(), static_cast<std::size_t>(shards));
                EXPECT_EQ(std::set<ShardId>(held.begin(), held.end()).size(), static_cast<std::size_t>(shards));
            }
    EXPECT_EQ(held_out_of({{"train.batch_size", 8}, {"search.fold", 2}}, 3).fold, 2);
    EXPECT_FALSE(held_out_of({{"train.batch_size", 8}}, 1).has(ShardId(0)));
}

TEST(Owners, AreBalanced) {
    for (int shards = 1; shards <= 20; ++shards)
        for (int trainers = 1; trainers <= 24; ++trainers)
            for (std::int64_t trials : {std::int64_t{1}, std::int64_t{100}}) {
                auto const owners = make_owners(shards, trainers, trials);
                EXPECT_EQ(owners.trainers, trainers);
                ASSERT_EQ(owners.owner.size(), static_cast<std::size_t>(shards));
                std::size_t all = 0;
                for (int t = 0; t < trainers; ++t) {
                    auto const held = owners.shards_of(TrainerId(t)).size();
                    all += held;
                    EXPECT_GE(held, static_cast<std::size_t>(shards / trainers));
                    EXPECT_LE(held, static_cast<std::size_t>((shards + trainers - 1) / trainers));
                    EXPECT_TRUE(t < shards || held == 0);
                }
                EXPECT_EQ(all, static_cast<std::size_t>(shards));
            }
}

TEST(Owners, NeighboursTogetherOrDealtOut) {
    auto const owner = [](int shards, int trainers, std::int64_t trials) {
        std::vector<int> out;
        for (auto id : make_owners(shards, trainers, trials).owner) out.push_back(id.value);
        return out;
    };
    EXPECT_EQ(owner(6, 3, 6), (std::vector{0, 0, 1, 1, 2, 2}));
    EXPECT_EQ(owner(6, 3, 5), (std::vector{0, 1, 2, 0, 1, 2}));
    EXPECT_EQ(owner(3, 5, 9), (std::vector{0, 1, 2}));
    EXPECT_THROW(make_owners(0, 1, 1), Error);
    EXPECT_THROW(make_owners(1, 0, 1), Error);
}

TEST(Hops, EqualAWalkRound) {
    for (int shards : {1, 2, 5, 12})
        for (int trainers : {1, 2, 3, 12})
            for (std::int64_t trials : {std::int64_t{1}, std::int64_t{100}})
                for (int t = 0; t < 15; ++t) {
                    auto const owners = make_owners(shards, trainers, trials);
                    int hops = 0;
                    auto at = owners.of(ShardId(t % shards));
                    for (int k = 1; k <= shards; ++k)
                        if (auto const next = owners.of(ShardId((t + k) % shards)); next != at) {
                            ++hops;
                            at = next;
                        }
                    EXPECT_EQ(hops_per_lap(k_planned, {TrialId(t), 0}, owners), hops);
                }
    EXPECT_EQ(hops_per_lap(k_planned, {TrialId(0), 0}, make_owners(12, 3, 100)), 3);
    EXPECT_EQ(hops_per_lap(k_planned, {TrialId(0), 0}, make_owners(12, 3, 1)), 12);
    EXPECT_EQ(hops_per_lap(k_planned, {TrialId(0), 0}, make_owners(12, 1, 100)), 0);
}

TEST(LowerBound, LongestTrialOrBusiestTrainer) {
    auto const owners = make_owners(2, 2, 10);
    EXPECT_DOUBLE_EQ(owners_bound(k_planned, {{TrialId(0), 1, 0, 3}}, owners), 6);      // alone: 3 epochs x 2 shards
    EXPECT_DOUBLE_EQ(owners_bound(k_planned, {{TrialId(0), 1, 0.5, 3}}, owners), 7.5);  // and its validations
    EXPECT_DOUBLE_EQ(owners_bound(k_planned, {{TrialId(0), 1, 1, 1}, {TrialId(2), 1, 1, 1}, {TrialId(4), 1, 1, 1}}, owners),
                     6);  // all at home on 0
    EXPECT_DOUBLE_EQ(owners_bound(k_planned, {{TrialId(0), 1, 0, 1}}, make_owners(3, 2, 1)), 3);
    EXPECT_DOUBLE_EQ(owners_bound(k_planned, {}, owners), 0);
}

TEST(Advice, SaysWhatItCostsAndWhatFits) {
    EXPECT_EQ(shard_advice(8, 8), "");
    EXPECT_EQ(shard_advice(8, 2), "");
    EXPECT_EQ(shard_advice(8, 7),
              "8 shards on 7 trainers keep them 57 % busy (some own 2 shards, some 1): use 1, 2, 4 or 8 trainers, or import "
              "with 7, 14 or 21 shards");
    EXPECT_EQ(shard_advice(12, 8),
              "12 shards on 8 trainers keep them 75 % busy (some own 2 shards, some 1): use 1, 2, 3, 4, 6 or 12 trainers, "
              "or import with 8, 16 or 24 "
              "shards");
    EXPECT_EQ(shard_advice(8, 12),
              "12 trainers but 8 shards: trainers 8-11 (ranks 9-12) will be idle (67 % busy in all): use 1, 2, 4 or 8 "
              "trainers, or import with 12, 24 "
              "or 36 shards");
    EXPECT_EQ(shard_advice(1, 2),
              "2 trainers but 1 shard: trainer 1 (rank 2) will be idle (50 % busy in all): use 1 trainer, or import with 2, "
              "4 or 6 shards");
    EXPECT_NE(shard_advice(100, 7).find("98, 105 or 112 shards"), std::string::npos);
    EXPECT_DOUBLE_EQ(shard_utilisation(8, 7), 8.0 / 14);
    EXPECT_DOUBLE_EQ(shard_utilisation(8, 12), 8.0 / 12);
}

TEST(Owners, HeirsShareWhatALostTrainerHadAndKeepTheirOwn) {
    for (int shards = 1; shards <= 12; ++shards)
        for (int trainers = 2; trainers <= 6; ++trainers) {
            auto const before = make_owners(shards, trainers, 100);
            auto table = before;
            std::vector<TrainerId> living;
            for (int id = 0; id < trainers; ++id) living.emplace_back(id);
            while (living.size() > 1) {
                auto const lost = living[static_cast<std::size_t>(shards) % living.size()];
                std::erase(living, lost);
                auto const old = table;
                table = without(old, lost, living);
                std::size_t least = 99, most = 0;
                for (auto const trainer : living) {
                    least = std::min(least, table.shards_of(trainer).size());
                    most = std::max(most, table.shards_of(trainer).size());
                }
                EXPECT_LE(most - least, 1U) << shards << " shards, " << living.size() << " left";
                for (std::size_t s = 0; s < old.owner.size(); ++s)
                    EXPECT_TRUE(old.owner[s] == table.owner[s] || old.owner[s] == lost);
                EXPECT_TRUE(table.shards_of(lost).empty());
                EXPECT_EQ(table.version, old.version + 1);
            }
            EXPECT_EQ(table.lost.size(), static_cast<std::size_t>(trainers) - 1);
        }
    EXPECT_THROW(without(make_owners(3, 1, 1), TrainerId(0), {}), Error);
    auto const single = without(make_owners(4, 1, 1), TrainerId(0), {TrainerId(2)});  // sequential: one owns all
    EXPECT_EQ(single.shards_of(TrainerId(2)).size(), 4U);
    EXPECT_EQ(single.trainers, 3);
}

}  // namespace visit_test
}  // namespace hopscotch
