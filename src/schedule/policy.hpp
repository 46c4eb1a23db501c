// SPDX-License-Identifier: Apache-2.0
// strategy.policy: which shard a trial visits next. PURE. Trainers, the simulation, hop counts and the lower bound all ask
// the policy, so a new policy is one function and one row in the table of policy.cpp.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "schedule/visit.hpp"

namespace hopscotch {

// The cluster at the moment of the question, for policies that decide at run time.
struct PolicyView {
    OwnerTable const& owners;
    std::span<char const> busy;        // by trainer; not 0: it trains
    std::span<ShardId const> visited;  // by the trial in this lap, in order
};

struct NextVisit {
    TrialId trial;
    int step = 0;  // of the lap, 0..S-1: the trial has visited so many shards. The owner of the shard of step 0 is its home
    int shards = 1;  // S
    HeldOut held_out = {};
    PolicyView const* now = nullptr;  // null: asked ahead. The answer is then the shard if no trainer were busy
    Route route = {};
};

struct Policy {
    std::string_view name;
    ShardId (*next)(NextVisit const&);  // every shard once in the S steps of a lap
};

Policy const& policy_named(std::string_view name);  // throws ConfigError that lists the known names
std::vector<std::string_view> policy_names();

}  // namespace hopscotch
