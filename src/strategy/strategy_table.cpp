// SPDX-License-Identifier: Apache-2.0
#include "strategy/strategy_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "experiment/strategy_traits.hpp"
#include "strategy/baselines/allreduce/allreduce.hpp"
#include "strategy/baselines/dispatched/match_dispatcher.hpp"
#include "strategy/baselines/model_averaging/model_averaging.hpp"
#include "strategy/baselines/parameter_server/parameter_server.hpp"
#include "strategy/baselines/parameter_server/parts.hpp"
#include "strategy/baselines/whole_laps/sequential.hpp"
#include "strategy/baselines/whole_laps/task_parallel.hpp"
#include "strategy/common/dispatcher.hpp"
#include "strategy/common/worker.hpp"
#include "strategy/common/worker_resources.hpp"
#include "strategy/mop/mop.hpp"
#include "strategy/together/group_dispatcher.hpp"

namespace hopscotch {

std::vector<StrategyEntry> const& strategies() {
    static std::vector<StrategyEntry> const table = {
        {"mop", make_mop_dispatcher, make_mop_worker},
        {"task_parallel", make_task_dispatcher, make_task_worker},
        {"model_averaging", make_group_dispatcher, make_model_averaging_worker},
        {"allreduce", make_group_dispatcher, make_allreduce_worker},
        {"parameter_server", make_group_dispatcher, make_parameter_server_worker},
        {"sequential", make_home_dispatcher, make_sequential_worker},
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
    bool const dedicated = config.server.placement == ServerPlacement::dedicated;
    if (config.group_size > 1) return std::max(1, trainers / config.group_size);
    return dedicated ? std::max(1, trainers - servers_of(config, 1)) : trainers;
}

}  // namespace hopscotch
