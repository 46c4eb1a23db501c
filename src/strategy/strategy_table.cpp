// SPDX-License-Identifier: Apache-2.0
#include "strategy/strategy_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "strategy/allreduce/allreduce.hpp"
#include "strategy/model_averaging/model_averaging.hpp"
#include "strategy/mop/mop.hpp"
#include "strategy/parameter_server/parameter_server.hpp"
#include "strategy/parameter_server/parts.hpp"
#include "strategy/together/group_dispatcher.hpp"
#include "strategy/whole_laps/task_parallel.hpp"
#include "strategy/whole_laps/whole_laps.hpp"

namespace hopscotch {

std::vector<StrategyEntry> const& strategies() {
    static std::vector<StrategyEntry> const table = {
        {"mop", "model hopper parallelism: the models visit the shards", true, make_home_dispatcher, make_mop_worker},
        {"task_parallel", "each trainer trains whole trials by itself; the data comes to it", true, make_task_dispatcher,
         make_task_worker, Bits::any_trainers, Rows::travel},
        {"model_averaging", "all trainers train copies of each trial on their own shards and average them now and then",
         true, make_group_dispatcher, make_model_averaging_worker, Bits::same_trainers},
        {"allreduce", "all trainers train each trial together, step by step, and all-reduce gradients", true,
         make_group_dispatcher, make_allreduce_worker, Bits::same_trainers},
        {"parameter_server", "workers push gradients to servers, which update and send parameters back", true,
         make_group_dispatcher, make_parameter_server_worker, Bits::same_trainers},
        {"sequential", "one trainer, one trial after another: the reference of sequential equivalence", false,
         make_home_dispatcher, make_sequential_worker},
    };
    return table;
}

StrategyEntry const& strategy_named(std::string_view name) {
    std::string known;
    for (auto const& entry : strategies()) {
        if (entry.name == name) return entry;
        known += (known.empty() ? "" : ", ") + entry.name;
    }
    throw ConfigError(fmt::format("strategy \"{}\" is unknown (known: {})", name, known));
}

int trainers_with_data(StrategyConfig const& config, int trainers) {
    if (!strategy_named(config.name).all_trainers) return 1;
    bool const dedicated = config.name == "parameter_server" && config.placement == ServerPlacement::dedicated;
    return dedicated ? std::max(1, trainers - servers_of(config, 1)) : trainers;
}

}  // namespace hopscotch
