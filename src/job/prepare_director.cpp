// SPDX-License-Identifier: Apache-2.0
#include "job/prepare_director.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/error.hpp"
#include "direct/director.hpp"
#include "experiment/procedures.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/plan_trials.hpp"
#include "job/prepared_run.hpp"
#include "model/zoo/zoo.hpp"
#include "rundir/tally.hpp"
#include "search/search.hpp"

namespace hopscotch {

double unit_cost_of(TrialConfig const& config, DataSchema const& schema, int shards) {
    return flops_per_row(config.model, schema) * static_cast<double>(schema.train_rows) / shards;
}

void prepare_director(PreparedRun& prepared) {
    auto const& config = prepared.inputs.experiment.search;
    auto search = make_search(prepared.inputs.experiment, prepared.inputs.context);
    auto const& strategy = prepared.inputs.experiment.strategy.name;
    if (search->clones() && strategy_traits(strategy).state_in_parts)
        throw ConfigError(fmt::format(
            "/search/procedure: {} lets trials take over each other's states ({} keeps them in parts on several trainers); "
            "use another strategy",
            config.procedure, strategy));
    if (keeps_every_best(prepared.inputs.experiment) && has_best_state_in_parts(prepared.inputs.experiment.strategy))
        throw ConfigError(fmt::format(
            "{} the best state of every trial ({} with strategy.momentum \"local\" keeps it in parts on several trainers); "
            "use \"averaged\" or another strategy",
            config.copies.count() > 1 ? "/search: repeats and folds need" : "/run/keep_best: trial needs", strategy));
    prepared.plan.decides = !search->decides_nothing();
    prepared.plan.search = plan_of(prepared.inputs.experiment, prepared.inputs.context);
    DirectorOptions options;
    options.unit_cost = [schema = prepared.inputs.schema, shards = prepared.shard_files()](TrialView const& trial) {
        return unit_cost_of(*trial.config, schema, shards);
    };
    options.shards = prepared.plan.shards;
    options.lookahead = config.decide.lookahead;
    options.decide_by = config.decide.deterministic ? DecideBy::virtual_time : DecideBy::arrival;
    plan_trials(prepared, options);
    prepared.director = make_director(prepared.inputs.experiment, std::move(search), std::move(options));
    if (prepared.trials().empty())
        throw ConfigError(fmt::format(
            "/search/start_from: {} has tried every configuration of the space (nothing is left to train); widen the space",
            config.proposals.start_from));
    prepared.plan.in_flight = std::min(static_cast<std::int64_t>(prepared.trials().size()), prepared.plan.admits);
}

}  // namespace hopscotch
