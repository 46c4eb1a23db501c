// SPDX-License-Identifier: Apache-2.0
// Who visits what when: pure functions of the experiment. Three shards on three trainers, trials 0..2:
//   trainer 0 (shard 0): t0 t2 t1      trainer 1 (shard 1): t1 t0 t2      trainer 2 (shard 2): t2 t1 t0     a Latin square
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

// search.folds: the shards that a trial does not train on, every `folds`-th one; it is validated on them.
struct HeldOut {
    int fold = 0, folds = 1;
    bool has(ShardId shard) const { return folds > 1 && shard.value % folds == fold; }
};
HeldOut held_out_of(Assignment const& assignment, int folds);

// `planned`: in every epoch trial t visits t, t+1, ..., t+S-1 (mod S), those held out after the others. step: 0..S-1.
ShardId planned_shard(TrialId trial, int step, int shards, HeldOut const& held_out = {});

// shard -> trainer; version + 1 after every change. Every trainer gets floor or ceil of S/W shards.
struct OwnerTable {
    int version = 1;
    int trainers = 0;                  // ids below this; the lost ones too
    std::vector<TrainerId> owner;      // by shard
    std::vector<TrainerId> lost = {};  // own nothing

    TrainerId of(ShardId shard) const { return owner[shard.index()]; }
    std::vector<ShardId> shards_of(TrainerId trainer) const;
};

// Neighbouring shards together (a step to a shard of the same trainer is a stay, 0 bytes) when there are at least as many
// trials as shards; else dealt out like cards, so that the first trials start on different trainers.
OwnerTable make_owners(int shards, int trainers, std::int64_t trials);

// The lost trainer's shards go to the heirs, each to the one that has the fewest then. All others stay where they are.
OwnerTable without(OwnerTable table, TrainerId lost, std::vector<TrainerId> const& heirs);

struct TrialCost {
    TrialId trial;
    double unit = 0;        // of one shard
    double validation = 0;  // of one validation at home
    int epochs = 0;
};

// Hops of one lap: changes of owner on the way round and back home.
std::int64_t hops_per_lap(TrialId trial, OwnerTable const& owners, HeldOut const& held_out = {});

// max(longest trial alone, most loaded trainer), validation included. The makespan of no schedule is smaller.
double lower_bound(std::vector<TrialCost> const& trials, OwnerTable const& owners);

// Event simulation of `planned` with couriers that cost nothing: what every trainer does, with the queue's own rule.
struct Simulation {
    double makespan = 0;
    double busy = 0;                // summed over trainers
    std::vector<TrialId> admitted;  // in order
};
Simulation simulate_planned(std::vector<TrialCost> const& trials, OwnerTable const& owners, std::int64_t in_flight);

// What W trainers make of S shards of equal size: utilisation (S/W over its ceiling), and the counts up to max(W, S) that
// divide S. The sentence that start-up and dry run print when they do not divide ("" when they do).
double shard_utilisation(int shards, int trainers);
std::string shard_advice(int shards, int trainers);

}  // namespace hopscotch
