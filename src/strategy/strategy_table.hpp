// SPDX-License-Identifier: Apache-2.0
// All strategies, with everything that other code needs to know about each.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "strategy/common/dispatcher.hpp"
#include "strategy/common/worker.hpp"

namespace hopscotch {

// Whether a trial's bits depend on the number of trainers.
enum class Bits { any_trainers, same_trainers };

// Whether rows stay with the trainer that owns their shard. travel: trainers that own no shard train too.
enum class Rows { stay, travel };

struct StrategyEntry {
    std::string name, summary;
    bool all_trainers;                                               // false: only trainer 0 works, and it owns every shard
    std::unique_ptr<Dispatcher> (*make_dispatcher)(Resources);       // rank 0's half
    std::unique_ptr<Worker> (*make_worker)(WorkerResources const&);  // each trainer's half
    Bits bits = Bits::any_trainers;
    Rows rows = Rows::stay;
};
std::vector<StrategyEntry> const& strategies();
StrategyEntry const& strategy_named(std::string_view name);  // throws ConfigError that lists the known names

// How many of so many trainers, the first ones, may own shards: dedicated parameter servers own none. At least 1.
int trainers_with_data(StrategyConfig const& config, int trainers);

}  // namespace hopscotch
