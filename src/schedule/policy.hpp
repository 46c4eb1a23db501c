// SPDX-License-Identifier: Apache-2.0
// strategy.policy: the next trial of each trainer. PURE. Trainers, rank 0, the simulation, hop counts and the lower bound
// all ask the policy. Two kinds:
//   planned     the shard of a step is a function of the experiment. Trainers look it up; rank 0 takes no part in a hop.
//   dispatched  a free trainer takes a trial that waits (matchmaker.hpp). Rank 0 decides, so the visit order depends on
//               timing: the journal has it, and replays and resumed jobs follow the journal.
// A new policy is a function and a row in the table of policy.cpp.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "schedule/visit.hpp"

namespace hopscotch {

class Matchmaker;  // schedule/matchmaker.hpp

struct NextVisit {
    TrialId trial;
    int step = 0;    // of the lap, 0..S-1: shards visited so far. The owner of the shard of step 0 is its home
    int shards = 1;  // S
    HeldOut held_out = {};
    Route route = {};
};

struct Policy {
    std::string_view name;
    // Every shard once in the S steps of a lap. Dispatched: only the home, and the order that hop counts assume.
    ShardId (*next)(NextVisit const&);
    std::unique_ptr<Matchmaker> (*make)(OwnerTable const&, std::uint64_t seed) = nullptr;

    bool dispatched() const { return make != nullptr; }
};

Policy const& policy_named(std::string_view name);  // throws ConfigError that lists the known names
std::vector<std::string_view> policy_names();

}  // namespace hopscotch
