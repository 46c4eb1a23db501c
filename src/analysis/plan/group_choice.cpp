// SPDX-License-Identifier: Apache-2.0
#include "analysis/plan/group_choice.hpp"

#include <fmt/format.h>

#include "analysis/forecast/strategy_forecast.hpp"
#include "analysis/plan/planned_run.hpp"
#include "analysis/plan/strategy_cases.hpp"
#include "analysis/plan/trial_costs.hpp"
#include "direct/trial_view.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/prepared_run.hpp"
#include "schedule/in_flight.hpp"
#include "schedule/policy.hpp"
#include "schedule/routes.hpp"
#include "schedule/simulate.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_most_group_units = 300'000;  // of one simulation
constexpr double k_groups_pay = 1.1;                  // times as fast
constexpr double k_own_share = 0.5;                   // of a step: not of its rows

bool may_be(PreparedRun const& prepared, PlannedRun const& planned, PlanBasis const& basis) {
    auto const& experiment = prepared.inputs.experiment;
    auto const trials = std::ssize(planned.trials());
    std::int64_t units = 0;
    for (auto const& trial : planned.trials()) units += trial.epochs * prepared.shard_files();
    return basis.knows_seconds && has_setting(experiment.strategy.name, "group_size") &&
           experiment.strategy.group_size == 1 && !policy_named(experiment.strategy.policy).dispatched() &&
           !prepared.plan.decides && experiment.search.copies.folds == 1 && trials > 0 && trials < prepared.fleet.trainers &&
           units <= k_most_group_units;
}

// With routes, owners and a schedule of its own.
double seconds_in_groups(StrategyConfig const& strategy, PreparedRun const& prepared, PlannedRun const& planned,
                         PlanBasis const& basis) {
    auto const& policy = policy_named(strategy.policy);
    auto const bundles = prepared.shard_files() / strategy.group_size,
               groups = prepared.fleet.trainers / strategy.group_size;
    auto const plain = planned.unit_costs(strategy);
    auto const seed = prepared.inputs.experiment.seed;
    auto const costs = with_routes(plain, plan_routes(policy, plain, bundles, seed), bundles, seed);
    auto const owners = make_owners(bundles, groups, std::ssize(costs));
    auto const in_flight = prepared.inputs.experiment.search.in_flight.value_or(usual_in_flight(groups));
    auto what = case_of(strategy, prepared, planned);
    what.simulated_s = simulate(policy, costs, owners, {.in_flight = in_flight}).makespan;
    what.hops_per_lap = 0;
    for (auto const& trial : costs)
        what.hops_per_lap += static_cast<double>(hops_per_lap(policy, {trial.trial, 0}, owners, {}, trial.route)) /
                             static_cast<double>(costs.size());
    return forecast(basis, what).makespan_s;
}

std::optional<GroupChoice> choose_groups(PreparedRun const& prepared, PlannedRun const& planned, PlanBasis const& basis) {
    if (!may_be(prepared, planned, basis)) return std::nullopt;
    auto strategy = prepared.inputs.experiment.strategy;
    GroupChoice out;
    out.seconds_now = forecast(basis, case_of(strategy, prepared, planned)).makespan_s;
    out.seconds = out.seconds_now / k_groups_pay;
    bool found = false;
    for (int size = 2; size <= prepared.fleet.trainers; ++size) {
        strategy.group_size = size;
        if (prepared.shard_files() % size != 0 || !refusal_of(strategy, prepared).empty()) continue;
        auto const seconds = seconds_in_groups(strategy, prepared, planned, basis);
        if (seconds >= out.seconds) continue;
        found = true;
        out.group_size = size;
        out.seconds = seconds;
    }
    return found ? std::optional(out) : std::nullopt;
}

}  // namespace

std::optional<GroupChoice> choose_groups(PreparedRun const& prepared) {
    if (prepared.plan.decides) return std::nullopt;  // a simulation would use up the director
    CostTable const measured({}, prepared);
    if (!measured.knows_seconds()) return std::nullopt;
    GivenCosts given;
    given.step_s = k_own_share * measured.mean_step_s();
    CostTable const costs(given, prepared);
    PlanBasis basis;
    PlannedRun const planned(prepared, costs, basis.link);
    basis.trials = planned.trials();
    basis.knows_seconds = true;
    return choose_groups(prepared, planned, basis);
}

std::string text_of(GroupChoice const& choice, PreparedRun const& prepared) {
    auto const trials = prepared.trials().size();
    return fmt::format("{} trial{} on {} trainers: strategy.group_size {} would take {} instead of {}", trials,
                       trials == 1 ? "" : "s", prepared.fleet.trainers, choice.group_size, time_text(choice.seconds, true),
                       time_text(choice.seconds_now, true));
}

std::string proposed_groups(PreparedRun const& prepared, PlannedRun const& planned, PlanBasis const& basis) {
    auto const choice = choose_groups(prepared, planned, basis);
    return choice ? text_of(*choice, prepared) : "";
}

}  // namespace hopscotch
