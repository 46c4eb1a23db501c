// SPDX-License-Identifier: Apache-2.0
// The makers of all strategies. All other facts about a strategy stand in experiment/strategy_traits.hpp and, for its cost,
// in analysis/cost/run_estimate.hpp, under the same names.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

namespace hopscotch {

class Dispatcher;
class Worker;
struct Resources;
struct StrategyConfig;
struct WorkerResources;

struct StrategyEntry {
    std::string_view name;
    std::unique_ptr<Dispatcher> (*make_dispatcher)(Resources);       // rank 0's half
    std::unique_ptr<Worker> (*make_worker)(WorkerResources const&);  // each trainer's half
};
std::vector<StrategyEntry> const& strategies();              // in the order of strategy_traits()
StrategyEntry const& strategy_named(std::string_view name);  // throws ConfigError that lists the known names

// The number of trainers, of all `trainers`, that may own shards: the first ones. Dedicated parameter servers own none.
// With strategy.group_size: the number of groups, which own bundles of shards. At least 1.
int trainers_with_data(StrategyConfig const& config, int trainers);

}  // namespace hopscotch
