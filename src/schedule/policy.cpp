// SPDX-License-Identifier: Apache-2.0
#include "schedule/policy.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "schedule/matchmaker.hpp"

namespace hopscotch {
namespace {

ShardId planned(NextVisit const& at) { return planned_shard(at.trial, at.step, at.shards, at.held_out, at.route); }

constexpr std::array<Policy, 4> k_policies{{
    {"planned", planned},
    {"lrtf", planned, make_lrtf},
    {"random", planned, make_random},
    {"ring", planned, make_ring},
}};

}  // namespace

std::vector<std::string_view> policy_names() {
    std::vector<std::string_view> out;
    out.reserve(k_policies.size());
    for (auto const& policy : k_policies) out.push_back(policy.name);
    return out;
}

Policy const& policy_named(std::string_view name) {
    auto const found = std::ranges::find(k_policies, name, &Policy::name);
    if (found == k_policies.end())
        throw ConfigError(fmt::format("policy \"{}\" is unknown (known: {})", name, fmt::join(policy_names(), ", ")));
    return *found;
}

}  // namespace hopscotch
