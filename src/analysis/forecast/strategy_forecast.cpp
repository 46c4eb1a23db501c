// SPDX-License-Identifier: Apache-2.0
#include "analysis/forecast/strategy_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/quantity_text.hpp"
#include "experiment/strategy_traits.hpp"

namespace hopscotch {
namespace {

// If slots are averaged too, they travel with the weights.
bool averages_slots(StrategyConfig const& strategy) {
    return has_setting(strategy.name, "momentum") && strategy.averaging.momentum == SlotPolicy::averaged;
}

int members_of(StrategyCase const& what) { return what.strategy.group_size > 1 ? what.strategy.group_size : what.workers; }

RunToEstimate run_of(PlanBasis const& basis, StrategyCase const& what) {
    RunToEstimate run;
    run.strategy = what.strategy;
    run.cluster = {what.workers, basis.knows_seconds ? basis.link : k_free_link};
    run.hops_per_lap = what.hops_per_lap;
    run.bundles = what.bundles;
    run.knows_dataset = true;
    run.work.dataset_bytes = basis.dataset_bytes;
    for (std::size_t i = 0; i < basis.trials.size(); ++i) {
        auto const& trial = basis.trials[i];
        auto& model = run.work.models.emplace_back(
            what.group.empty() ? alone_model(trial)
                               : group_model(trial, what.group[i], members_of(what), what.strategy.batch));
        if (!averages_slots(what.strategy)) continue;
        model.weight_bytes += model.optimizer_bytes;
        model.optimizer_bytes = 0;
    }
    return run;
}

// In a group every worker pays for the start of every step.
double busy_s(PlanBasis const& basis, StrategyCase const& what) {
    double out = 0;
    for (std::size_t i = 0; i < basis.trials.size(); ++i) {
        auto const& trial = basis.trials[i];
        auto const starts = what.group.empty() ? trial.alone.steps : members_of(what) * what.group[i].steps;
        out += static_cast<double>(trial.epochs) * (static_cast<double>(starts) * trial.fixed_s +
                                                    static_cast<double>(trial.rows) * trial.row_s + trial.validation_s);
    }
    return out;
}

}  // namespace

std::string time_text(double seconds, bool knows_seconds) {
    if (!knows_seconds) return fmt::format("{:.3f} W", seconds);
    return seconds < 10 ? fmt::format("{:.2f}s", seconds) : duration(seconds);
}

StrategyForecast forecast(PlanBasis const& basis, StrategyCase const& what) {
    auto const estimate = estimate_run(run_of(basis, what));
    require(estimate.has_value(), "a plan knows every number that an estimate needs");
    int const used = strategy_traits(what.strategy.name).all_trainers ? what.trainers : 1;
    StrategyForecast out;
    out.strategy = what.strategy;
    out.makespan_s = std::max(estimate->makespan_s, what.simulated_s.value_or(0));
    out.communication_s = estimate->communication_s;
    out.network_bytes = estimate->network_bytes;
    out.link_bytes = estimate->network_bytes / used;
    out.data_bytes = estimate->storage_bytes;
    out.memory.training = static_cast<std::uint64_t>(estimate->memory_bytes);
    if (out.makespan_s > 0) out.busy = std::min(1.0, busy_s(basis, what) / (out.makespan_s * used));
    if (auto const work = work_s(basis.trials); work > 0) out.times_bound = out.makespan_s / (work / what.trainers);
    if (basis.price_per_trainer_hour && basis.knows_seconds)
        out.price = *basis.price_per_trainer_hour * used * out.makespan_s / 3600;
    return out;
}

}  // namespace hopscotch
