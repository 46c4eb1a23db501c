// SPDX-License-Identifier: Apache-2.0
#include "experiment/strategy_traits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.hpp"

namespace hopscotch {
namespace {

using Shown = StrategySetting::Shown;
using Traffic = StrategyTraits::Traffic;

StrategySetting const k_batch_split{"batch", "split", Shown::unless_default};
StrategySetting const k_visits{"visits", "balanced", Shown::unless_default};
StrategySetting const k_collectives{"collectives", "auto", Shown::unless_default};

StrategyTraits mop_traits() {
    return {.name = "mop",
            .summary = "model hopper parallelism: the models visit the shards",
            .training = Training::hopping,
            .traffic = Traffic::states,
            .settings = {{"policy", "planned", Shown::unless_default},
                         k_visits,
                         {"owners", "shares", Shown::unless_default},
                         {"group_size"},
                         {"batch"}}};
}

StrategyTraits task_parallel_traits() {
    return {.name = "task_parallel",
            .summary = "each trainer trains whole trials by itself; the data comes to it",
            .rows = Rows::travel,
            .traffic = Traffic::rows,
            .traffic_word = "rows",
            .settings = {{"data", "replicated", Shown::always_bare}, k_visits}};
}

StrategyTraits model_averaging_traits() {
    return {.name = "model_averaging",
            .summary = "all trainers train copies of each trial on their own shards and average them now and then",
            .training = Training::together,
            .bits = Bits::same_trainers,
            .state_in_parts = true,
            .traffic = Traffic::gradients,
            .traffic_word = "parameters",
            .settings = {{"every", "epoch", Shown::always},
                         {"batch", "per_worker", Shown::unless_default},
                         {"momentum", "local", Shown::unless_default},
                         {"via", "allreduce", Shown::unless_default},
                         {"algorithm", "ring", Shown::unless_default},
                         k_collectives,
                         {"scale_lr"},
                         {"first_bucket_mb"},
                         {"bucket_mb"},
                         {"outer"}}};
}

StrategyTraits allreduce_traits() {
    return {.name = "allreduce",
            .summary = "all trainers train each trial together, step by step, and all-reduce gradients",
            .training = Training::together,
            .bits = Bits::same_trainers,
            .traffic = Traffic::gradients,
            .traffic_word = "gradients",
            .settings = {{"algorithm", "ring", Shown::always_bare},
                         k_batch_split,
                         {"batch_norm", "local", Shown::unless_default},
                         k_collectives,
                         {"scale_lr"},
                         {"first_bucket_mb"},
                         {"bucket_mb"}}};
}

StrategyTraits parameter_server_traits() {
    return {.name = "parameter_server",
            .summary = "workers push gradients to servers, which update and send parameters back",
            .training = Training::together,
            .bits = Bits::same_trainers,
            .state_in_parts = true,
            .traffic = Traffic::gradients,
            .traffic_word = "gradients and parameters",
            .settings = {{"mode", "sync", Shown::always_bare},
                         {"placement", "colocated", Shown::unless_default},
                         k_batch_split,
                         {"servers", "", Shown::if_given, "s"},
                         {"scale_lr"},
                         {"staleness"},
                         {"aggregate"},
                         {"part_mb"}}};
}

StrategyTraits sequential_traits() {
    return {.name = "sequential",
            .summary = "one trainer, one trial after another: the reference of sequential equivalence",
            .all_trainers = false,
            .settings = {k_visits}};
}

}  // namespace

std::vector<StrategyTraits> const& strategy_traits() {
    static std::vector<StrategyTraits> const table = {
        mop_traits(),       task_parallel_traits(),    model_averaging_traits(),
        allreduce_traits(), parameter_server_traits(), sequential_traits()};
    return table;
}

StrategyTraits const& strategy_traits(std::string_view name) {
    for (auto const& row : strategy_traits())
        if (row.name == name) return row;
    throw ConfigError(fmt::format("strategy \"{}\" is unknown (known: {})", name, fmt::join(strategy_names(), ", ")));
}

std::vector<std::string> strategy_names() {
    std::vector<std::string> out;
    for (auto const& row : strategy_traits()) out.emplace_back(row.name);
    return out;
}

bool has_setting(std::string_view strategy, std::string_view key) {
    return std::ranges::count(strategy_traits(strategy).settings, key, &StrategySetting::key) > 0;
}

std::string_view default_of(std::string_view strategy, std::string_view key) {
    auto const& settings = strategy_traits(strategy).settings;
    auto const found = std::ranges::find(settings, key, &StrategySetting::key);
    return found == settings.end() ? "" : found->fallback;
}

std::vector<std::string> strategies_with(std::string_view key) {
    auto out = strategy_names();
    std::erase_if(out, [&](std::string const& name) { return !has_setting(name, key); });
    return out;
}

bool has_best_state_in_parts(StrategyConfig const& config) {
    return has_setting(config.name, "momentum") && config.averaging.momentum == SlotPolicy::local;
}

bool trains_together(StrategyConfig const& config) {
    return config.group_size > 1 || strategy_traits(config.name).bits == Bits::same_trainers;
}

bool has_server_log(StrategyConfig const& config) {
    return has_setting(config.name, "mode") && config.server.mode != ServerMode::sync;
}

}  // namespace hopscotch
