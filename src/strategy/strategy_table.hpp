// SPDX-License-Identifier: Apache-2.0
// All strategies: their makers and cost estimates. What other code asks of a strategy stands in
// experiment/strategy_traits.hpp, under the same names.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "schedule/run_estimate.hpp"
#include "strategy/common/strategy.hpp"

namespace hopscotch {

struct StrategyEntry {
    std::string_view name;
    std::unique_ptr<Strategy> (*make)(Resources);
    EstimateRun estimate;
};
std::vector<StrategyEntry> const& strategies();              // in the order of strategy_traits()
StrategyEntry const& strategy_named(std::string_view name);  // throws ConfigError that lists the known names

// How many of so many trainers, the first ones, may own shards: dedicated parameter servers own none. At least 1.
int trainers_with_data(StrategyConfig const& config, int trainers);

}  // namespace hopscotch
