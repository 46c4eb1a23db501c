// SPDX-License-Identifier: Apache-2.0
// How each strategy would train a planned run: its settings, its group, its hops; or the reason why it refuses.
#pragma once
#include <string>

#include "analysis/forecast/strategy_forecast.hpp"

namespace hopscotch {

class PlannedRun;
struct PreparedRun;

// As the experiment configures the strategy, or with the strategy's defaults.
StrategyConfig settings_of(std::string const& strategy, PreparedRun const& prepared);

std::string refusal_of(StrategyConfig const& strategy, PreparedRun const& prepared);  // empty: it can train the experiment

// Of a strategy that does not refuse.
StrategyCase case_of(StrategyConfig const& strategy, PreparedRun const& prepared, PlannedRun const& planned);

}  // namespace hopscotch
