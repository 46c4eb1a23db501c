// SPDX-License-Identifier: Apache-2.0
// Visit order, hops, and bounds of the makespan: pure functions. Three shards on three trainers, trials 0..2:
//   trainer 0 (shard 0): t0 t2 t1      trainer 1 (shard 1): t1 t0 t2      trainer 2 (shard 2): t2 t1 t0     a Latin square
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.hpp"
#include "experiment/assignment.hpp"
#include "schedule/owners.hpp"

namespace hopscotch {

struct Policy;  // schedule/policy.hpp

// search.folds: a trial does not train on every `folds`-th shard; it is validated there.
struct HeldOut {
    int fold = 0, folds = 1;
    bool has(ShardId shard) const { return folds > 1 && shard.value % folds == fold; }
};
HeldOut held_out_of(Assignment const& assignment, int folds);

// A trial's way round the shards. Rank 0 gives each trial its route once (routes.hpp). The route travels with every lap and
// stands in the journal, so trainers and replays never compute it again.
enum class Direction { forward, backward };
struct Route {
    ShardId first = {};  // its owner is the trial's home. None (-1): shard t mod S for trial t
    Direction direction = Direction::forward;
    bool operator==(Route const&) const = default;
};

// Which routes a run gives: a part of experiment.json, so a resumed job gives the same. The default: the routes of versions
// without this choice.
struct RoutePlan {
    int permutation = -1;  // the number of the permutations that are drawn from the seed; -1: home t mod S
    double long_from = 0;  // a trial goes backward if its cost exceeds the mean of the others by this factor; 0: none does
    bool operator==(RoutePlan const&) const = default;
};

// The policy `planned`: in every epoch a trial visits its first shard f, then f+1, f+2, ... (mod S), or backward f-1, f-2,
// ...; those held out come after the others. step: 0..S-1. Without a route, f is t mod S for trial t: strategies whose
// trainers train a trial together visit in this order under any policy.
ShardId planned_shard(TrialId trial, int step, int shards, HeldOut const& held_out = {}, Route const& route = {});

// A forward pass, of a training step: the backward pass does twice the forward pass's work.
inline constexpr double k_forward_share = 1.0 / 3;

struct TrialCost {
    TrialId trial;
    double unit = 0;        // of one shard
    double validation = 0;  // of one validation at home
    int epochs = 0;
    Route route = {};
};

// Hops of one lap: changes of trainer on the way round and back home. hops_of: of a trial's first laps.
std::int64_t hops_per_lap(Policy const& policy, LapId const& lap, OwnerTable const& owners, HeldOut const& held_out = {},
                          Route const& route = {});
struct LapsOf {
    TrialId trial;
    std::int64_t laps = 0;
    HeldOut held_out = {};
    Route route = {};
};
std::int64_t hops_of(Policy const& policy, LapsOf const& trial, OwnerTable const& owners);

// Of the machine, for any owners of the shards: max(longest trial on the fastest trainer, all work over all speed),
// validation included. No schedule is shorter. Seconds are those of the fastest trainer.
double lower_bound(std::vector<TrialCost> const& trials, OwnerTable const& owners);
// Of these owners: also the most loaded trainer.
double owners_bound(Policy const& policy, std::vector<TrialCost> const& trials, OwnerTable const& owners);

// Utilisation of W trainers by S shards of equal size: S/W over its ceiling.
// shard_advice: the sentence that start-up and dry run print, with the numbers of trainers that divide S; "" if W is one of
// them.
double shard_utilisation(int shards, int trainers);
std::string shard_advice(int shards, int trainers);

}  // namespace hopscotch
