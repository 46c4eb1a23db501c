// SPDX-License-Identifier: Apache-2.0
// Strategies, one row each: all facts about a strategy that code outside it needs. No other code compares names of
// strategies. The makers stand in strategy/strategy_table.cpp, the estimates in analysis/cost/run_estimate.cpp: same names.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "experiment/strategy_config.hpp"

namespace hopscotch {

// How trainers share a trial: its state hops from trainer to trainer, one trainer has it to itself, or all train it at once.
enum class Training { hopping, alone, together };

// A trial's bits depend on the experiment alone, or also on the number of trainers.
enum class Bits { any_trainers, same_trainers };

// Whether rows stay with the trainer that owns their shard. travel: trainers that own no shard train too.
enum class Rows { stay, travel };

// One key of the section `strategy`, and its place in the label of a run in a table of runs ("allreduce ring batch=split").
struct StrategySetting {
    enum class Shown { always_bare, always, unless_default, if_given };  // bare: the value without the key
    std::string_view key;
    std::string_view fallback = "";  // the default, as in an experiment; if_given needs none
    Shown shown = Shown::if_given;
    std::string_view label = "";  // instead of the key
};

struct StrategyTraits {
    std::string_view name, summary;
    Training training = Training::alone;
    bool all_trainers = true;  // false: only trainer 0 works, and it owns every shard
    Bits bits = Bits::any_trainers;
    Rows rows = Rows::stay;
    bool state_in_parts = false;  // between laps several trainers hold parts of a state, so no trial can take it over
    enum class Traffic { none, states, gradients, rows };
    Traffic traffic = Traffic::none;     // which counter of bytes the result of a run reports
    std::string_view traffic_word = "";  // for these bytes: "12.3 MB of gradients moved"
    std::vector<StrategySetting> settings = {};
};

std::vector<StrategyTraits> const& strategy_traits();
StrategyTraits const& strategy_traits(std::string_view name);  // throws ConfigError that lists the known names
std::vector<std::string> strategy_names();

// Does the key belong to the strategy? Then its field in StrategyConfig means something.
bool has_setting(std::string_view strategy, std::string_view key);
std::string_view default_of(std::string_view strategy, std::string_view key);  // "" if the strategy has no such setting
std::vector<std::string> strategies_with(std::string_view key);

// Is a trial's best state in parts on several trainers? (The workers of a mean keep optimizer slots of their own.)
bool has_best_state_in_parts(StrategyConfig const& config);

// True if bits depend on the order in which gradients arrive, so that a run has a log of the servers.
bool has_server_log(StrategyConfig const& config);

}  // namespace hopscotch
