// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/strategy_cases.hpp"

#include <algorithm>
#include <map>

#include "analysis/plan/epoch_steps.hpp"
#include "analysis/plan/planned_run.hpp"
#include "experiment/reader.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/prepared_run.hpp"
#include "schedule/policy.hpp"
#include "strategy/strategy_table.hpp"

namespace hopscotch {
namespace {

std::vector<EpochSteps> group_steps(StrategyCase const& what, PreparedRun const& prepared, PlannedRun const& planned) {
    std::vector<EpochSteps> out;
    std::map<std::int64_t, EpochSteps> known;  // by batch
    auto const trials = static_cast<std::int64_t>(planned.trials().size());
    auto const owners = make_owners(prepared.shard_files(), what.workers, trials);
    bool const in_groups = what.strategy.group_size > 1;
    for (auto const& trial : planned.trials()) {
        auto const [steps, is_new] = known.try_emplace(trial.batch);
        if (is_new)
            steps->second = in_groups ? epoch_steps_in_groups(prepared, trial.id, what.strategy)
                                      : epoch_steps(prepared, trial.id, owners, what.strategy);
        out.push_back(steps->second);
    }
    return out;
}

}  // namespace

StrategyConfig settings_of(std::string const& strategy, PreparedRun const& prepared) {
    if (strategy == prepared.inputs.experiment.strategy.name) return prepared.inputs.experiment.strategy;
    auto document = prepared.inputs.experiment.document;
    document["strategy"] = Json::object({{"name", strategy}});
    Problems ignored("");  // refusal_of reports the problems
    return read_experiment(document.dump(), {}, ignored).strategy;
}

StrategyCase case_of(StrategyConfig const& strategy, PreparedRun const& prepared, PlannedRun const& planned) {
    auto const& traits = strategy_traits(strategy.name);
    StrategyCase out;
    out.strategy = strategy;
    out.trainers = out.workers = prepared.fleet.trainers;
    out.bundles = prepared.shard_files() / strategy.group_size;
    if (traits.rows == Rows::stay) out.workers = std::min(trainers_with_data(strategy, out.trainers), out.bundles);
    bool const other_groups = strategy.group_size != prepared.inputs.experiment.strategy.group_size;
    if (traits.training == Training::hopping && !other_groups) {
        auto const loads = planned.mop_owners().loads();
        out.workers = static_cast<int>(std::ranges::count_if(loads, [](double load) { return load > 0; }));
    }
    if (!traits.all_trainers) out.workers = 1;
    if (traits.training == Training::together || strategy.group_size > 1) out.group = group_steps(out, prepared, planned);
    if (traits.training == Training::hopping) {
        out.hops_per_lap = planned.hops_per_lap(policy_named(strategy.policy));
        out.simulated_s = planned.simulated_s();
    }
    return out;
}

}  // namespace hopscotch
