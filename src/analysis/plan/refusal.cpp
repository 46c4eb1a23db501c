// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "analysis/plan/strategy_cases.hpp"
#include "core/json_reader.hpp"
#include "direct/trial_view.hpp"
#include "experiment/procedures.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/prepared_run.hpp"
#include "strategy/check.hpp"

namespace hopscotch {

std::string refusal_of(StrategyConfig const& strategy, PreparedRun const& prepared) {
    auto experiment = prepared.inputs.experiment;
    experiment.strategy = strategy;
    Problems problems("");
    auto const& config = *prepared.trials().front().config;
    auto const shards = prepared.shard_files() / strategy.group_size;
    check_strategy(experiment, config, prepared.fleet.trainers, shards, problems);
    if (!problems.empty()) return problems.entries().front().problem;
    if (procedure_traits(experiment.search.procedure).clones && strategy_traits(strategy.name).state_in_parts)
        return fmt::format("{} lets trials take over each other's states (they are in parts on several trainers)",
                           experiment.search.procedure);
    return "";
}

}  // namespace hopscotch
