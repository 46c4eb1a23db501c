// SPDX-License-Identifier: Apache-2.0
// All strategies, and what other code asks of each.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "strategy/common/strategy.hpp"

namespace hopscotch {

// What a trial's bits depend on besides the experiment: nothing, or the number of trainers too.
enum class Bits { any_trainers, same_trainers };

// Whether rows stay with the trainer that owns their shard. travel: trainers that own no shard train too.
enum class Rows { stay, travel };

struct StrategyEntry {
    std::string name, summary;
    bool all_trainers;  // false: only trainer 0 works, and it owns every shard
    std::unique_ptr<Strategy> (*make)(Resources);
    Bits bits = Bits::any_trainers;
    Rows rows = Rows::stay;
};
std::vector<StrategyEntry> const& strategies();
StrategyEntry const& strategy_named(std::string_view name);  // throws ConfigError that lists the known names

// How many of so many trainers, the first ones, may own shards: dedicated parameter servers own none. At least 1.
int trainers_with_data(StrategyConfig const& config, int trainers);

}  // namespace hopscotch
