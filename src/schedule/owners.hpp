// SPDX-License-Identifier: Apache-2.0
// Owners of shards: the trainer that trains a trial's unit on a shard. PURE. The visit order does not depend on the owners,
// so no bit does. Four shards on three trainers of equal speed are a line with two cuts:
//   shards     |   0   |   1   |   2   |   3   |
//   trainers   |    0     |    1     |    2    |     trainers 0 and 1 hold shard 1, 1 and 2 hold shard 2
#pragma once
#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "experiment/strategy_config.hpp"

namespace hopscotch {

struct LapId;

// The part of a shard's units that one of its holders trains: from the `until` of the holder before up to its own.
struct ShardShare {
    TrainerId trainer;
    double until = 1;
    bool operator==(ShardShare const&) const = default;
};

// shard -> trainers; version + 1 after every change.
struct OwnerTable {
    int version = 1;
    int trainers = 0;                                  // ids are smaller; lost trainers count
    std::vector<TrainerId> owner;                      // by shard; of several holders the one that trains most
    std::vector<TrainerId> lost = {};                  // hold nothing
    std::vector<std::vector<ShardShare>> shares = {};  // by shard; empty, of all or of one: its owner is the only holder
    std::vector<double> speed = {};                    // by trainer, of the fastest; empty: all are equal

    bool operator==(OwnerTable const&) const = default;
    TrainerId of(ShardId shard) const { return owner[shard.index()]; }
    // The trainer of that unit: a function of the table, trial, epoch and shard alone, so that every rank knows it. A
    // trial's first shard has the same trainer in every epoch, its home; so the step counts, too (0 and S: home).
    TrainerId trains(LapId const& lap, int step, ShardId shard) const;
    std::vector<ShardId> shards_of(TrainerId trainer) const;  // that it holds
    std::int64_t replicas() const;                            // holders beyond one of each shard
    std::vector<double> loads() const;                        // by trainer: shards' worth of units that it trains
    double speed_of(TrainerId trainer) const { return speed.empty() ? 1 : speed[trainer.index()]; }
};

// Whole shards on trainers of equal speed: every trainer gets floor or ceil of S/W. With at least as many trials as shards,
// neighbouring shards form blocks: a step to a shard of the same trainer is a stay (0 bytes). With fewer trials, shards are
// dealt out like cards: the first trials start on different trainers.
OwnerTable make_owners(int shards, int trainers, std::int64_t trials);

struct OwnersRequest {
    int shards = 1;
    std::int64_t trials = 1;
    std::vector<double> speed;  // by trainer; 0: it holds nothing
    OwnersBy by = OwnersBy::shares;
};

// Shards in proportion to speed (k_same_speed). Some get several holders only if whole shards would keep the machine busy
// less than k_whole_enough of the time.
OwnerTable plan_owners(OwnersRequest const& request);

inline constexpr double k_same_speed = 1.1;  // trainers count as equal if none is faster than another by this
inline constexpr double k_whole_enough = 0.98;

// strategy.group_size G > 1. The scheduler sees groups as trainers, and bundles of G shards as shards. Group g is the
// trainers gG, gG+1, ...; bundle b is the shards bG, bG+1, ..., one for each member of its group, in order. Two groups of
// two:
//   bundles -> groups: [0, 1]        shards -> trainers: [0, 1, 2, 3]
// with_members: the table of shards and trainers; trainers: of the job, some may be in no group. of_groups: the way back,
// for hop counts: a group has the number of its first trainer.
OwnerTable with_members(OwnerTable const& of_groups, int group_size, int trainers);
OwnerTable of_groups(OwnerTable const& with_members, int group_size);

// The seconds of a table, relative to a machine whose trainers have these speeds and share the work without limits.
double stretch(OwnerTable const& table, std::vector<double> const& speed);

// Shards that only the lost trainer held go to the heirs with the fewest. All other shards keep their holders.
OwnerTable without(OwnerTable table, TrainerId lost, std::vector<TrainerId> const& heirs);

}  // namespace hopscotch
