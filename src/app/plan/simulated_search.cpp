// SPDX-License-Identifier: Apache-2.0
#include "app/plan/simulated_search.hpp"

#include "app/job/prepare.hpp"
#include "schedule/director.hpp"
#include "schedule/policy.hpp"

namespace hopscotch {

std::optional<SearchSimulation> simulated_search(PreparedRun const& prepared, OwnerTable const& owners,
                                                 std::function<void(SimulatedUnit const&)> const& on_task) {
    auto const& budget = prepared.experiment.search.budget;
    bool const goes_by_results = budget.target || budget.patience;  // made-up ones would end it anywhere
    if (goes_by_results || prepared.plan.trials > k_most_simulated) return std::nullopt;
    return simulate_search(policy_named(prepared.experiment.strategy.policy), *prepared.director, owners,
                           {.seed = static_cast<std::uint64_t>(prepared.experiment.seed), .on_task = on_task});
}

}  // namespace hopscotch
