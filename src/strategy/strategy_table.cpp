// SPDX-License-Identifier: Apache-2.0
#include "strategy/strategy_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "experiment/strategy_traits.hpp"
#include "strategy/allreduce/allreduce.hpp"
#include "strategy/model_averaging/model_averaging.hpp"
#include "strategy/mop/mop.hpp"
#include "strategy/parameter_server/parameter_server.hpp"
#include "strategy/parameter_server/parts.hpp"
#include "strategy/whole_laps/sequential.hpp"
#include "strategy/whole_laps/task_parallel.hpp"

namespace hopscotch {

std::vector<StrategyEntry> const& strategies() {
    static std::vector<StrategyEntry> const table = {
        {"mop", make_mop},
        {"task_parallel", make_task_parallel},
        {"model_averaging", make_model_averaging},
        {"allreduce", make_allreduce},
        {"parameter_server", make_parameter_server},
        {"sequential", make_sequential},
    };
    return table;
}

StrategyEntry const& strategy_named(std::string_view name) {
    auto const found = std::ranges::find(strategies(), name, &StrategyEntry::name);
    if (found != strategies().end()) return *found;
    strategy_traits(name);  // throws unless the tables differ
    throw Error(fmt::format("strategy \"{}\" has no maker", name));
}

int trainers_with_data(StrategyConfig const& config, int trainers) {
    if (!strategy_traits(config.name).all_trainers) return 1;
    bool const dedicated = config.placement == ServerPlacement::dedicated;
    return dedicated ? std::max(1, trainers - servers_of(config, 1)) : trainers;
}

}  // namespace hopscotch
