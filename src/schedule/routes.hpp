// SPDX-License-Identifier: Apache-2.0
// The routes of a run's trials. PURE: functions of the experiment, never of trainers, speed or time, because the visit order
// decides bits.
//   homes      in each block of S trials, a permutation that is drawn from the seed. With home t mod S instead, the homes of
//              a grid follow its last key: four sizes of network on four shards, and one trainer validates all largest ones.
//   direction  a trial that costs far more than the others goes round backward. If all trials go round the same way, the
//              others queue behind it, and the trainers before it have nothing to do. Trials that come towards it pass.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/visit.hpp"

namespace hopscotch {

class Routes {
public:
    Routes(RoutePlan plan, std::int64_t seed, int shards) : plan_(plan), seed_(seed), shards_(shards) {}

    // mean: of the costs that this one is compared with; 0: with none.
    Route of(TrialId trial, double unit_cost, double mean);

private:
    RoutePlan plan_;
    std::int64_t seed_;
    int shards_;
    std::vector<std::vector<ShardId>> homes_;  // by block of S trials
};

// For searches that propose trials on the way: the costs of those are not known yet.
inline constexpr RoutePlan k_blind_routes{0, 6};

// For trials that are all known: the plan that a simulation prefers. Permuted homes, unless with each of the first few
// permutations some number of trainers would lose 1 % more than all gain on average; long trials backward, if that gains
// 0.5 %. Experiments that are too large to simulate get k_blind_routes. Routes in `trials` do not count.
RoutePlan plan_routes(Policy const& policy, std::span<TrialCost const> trials, int shards, std::int64_t seed);

// The routes of a plan, each trial compared with all.
std::vector<TrialCost> with_routes(std::span<TrialCost const> trials, RoutePlan const& plan, int shards, std::int64_t seed);

}  // namespace hopscotch
