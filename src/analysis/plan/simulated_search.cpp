// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/simulated_search.hpp"

#include "direct/trial_view.hpp"
#include "experiment/metric.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/plan_trials.hpp"
#include "job/prepared_run.hpp"
#include "schedule/in_flight.hpp"
#include "schedule/policy.hpp"

namespace hopscotch {

OwnerTable owners_for_mop(PreparedRun const& prepared) {
    auto const& own = prepared.inputs.experiment.strategy.name;
    if (strategy_traits(own).training == Training::hopping) return prepared.fleet.owners;
    StrategyConfig const usual;
    auto const trials = prepared.plan.decides ? std::vector<TrialCost>() : costs_of(prepared, prepared.trials());
    OwnersRequest request{prepared.plan.shards, std::ssize(prepared.trials()), {}, usual.owners};
    request.speed.assign(static_cast<std::size_t>(prepared.fleet.trainers), 1);
    return choose_owners(policy_named(usual.policy), trials, request);
}

std::optional<SearchSimulation> simulated_search(PreparedRun const& prepared, OwnerTable const& owners,
                                                 std::function<void(SimulatedUnit const&)> const& on_task) {
    auto const& budget = prepared.inputs.experiment.search.budget;
    bool const goes_by_results = budget.target || budget.patience;  // made-up results would end the search at any point
    if (goes_by_results || prepared.plan.search.trials > k_most_simulated) return std::nullopt;
    auto own = prepared.inputs.experiment.search.front.names;
    own.push_back(prepared.inputs.experiment.search.metric);
    std::erase_if(own, [](std::string const& name) { return !may_be_own_metric(name); });
    return simulate_search(policy_named(prepared.inputs.experiment.strategy.policy), *prepared.director, owners,
                           {.seed = static_cast<std::uint64_t>(prepared.inputs.experiment.seed),
                            .own_metrics = std::move(own),
                            .on_task = on_task});
}

}  // namespace hopscotch
