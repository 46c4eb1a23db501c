// SPDX-License-Identifier: Apache-2.0
#include "analysis/cost/run_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.hpp"

namespace hopscotch {
namespace {

Collective collective_of(StrategyConfig const& strategy) {
    if (strategy.averaging.via == AverageVia::master) return Collective::star;
    return strategy.reduce.algorithm == ReduceAlgorithm::deterministic ? Collective::direct : Collective::ring;
}

std::optional<Estimate> mop_estimate(RunToEstimate const& run) {
    auto const& strategy = run.strategy;
    if (strategy.group_size == 1) return estimate_mop(run.work, run.cluster, run.hops_per_lap);
    if (!run.knows_weights) return std::nullopt;
    return estimate_mop_in_groups(run.work, run.cluster, run.hops_per_lap, group_use(strategy, run.bundles));
}

std::optional<Estimate> sequential_estimate(RunToEstimate const& run) { return estimate_sequential(run.work); }

// Trainers start trials themselves and keep the weights, so less is sent than estimate_task_parallel says.
std::optional<Estimate> task_parallel_estimate(RunToEstimate const& run) {
    if (!run.knows_weights || !run.knows_dataset) return std::nullopt;
    auto out = estimate_task_parallel(run.work, run.cluster, run.strategy.data);
    for (auto const& model : run.work.models) out.network_bytes -= run.cluster.trainers > 1 ? model.weight_bytes : 0;
    return out;
}

std::optional<Estimate> model_averaging_estimate(RunToEstimate const& run) {
    if (!run.knows_weights) return std::nullopt;
    auto const& strategy = run.strategy;
    return estimate_averaging(run.work, run.cluster, {strategy.averaging.every, collective_of(strategy), strategy.batch});
}

std::optional<Estimate> allreduce_estimate(RunToEstimate const& run) {
    if (!run.knows_weights) return std::nullopt;
    auto const& strategy = run.strategy;
    return estimate_all_reduce(run.work, run.cluster, {collective_of(strategy), bucket_bytes_of(strategy), strategy.batch});
}

std::optional<Estimate> parameter_server_estimate(RunToEstimate const& run) {
    if (!run.knows_weights) return std::nullopt;
    auto const& strategy = run.strategy;
    int const usual = strategy.server.placement == ServerPlacement::colocated ? run.cluster.trainers : 1;
    Servers const servers{strategy.server.count == 0 ? usual : strategy.server.count, strategy.server.placement,
                          ServerFlow::push_then_pull};
    bool const free_running = strategy.server.mode == ServerMode::async || strategy.server.mode == ServerMode::ssp;
    return free_running ? estimate_async_server(run.work, run.cluster, servers, strategy.batch)
                        : estimate_parameter_server(run.work, run.cluster, servers, strategy.batch);
}

struct Row {
    std::string_view strategy;
    std::optional<Estimate> (*estimate)(RunToEstimate const&);
};
constexpr std::array k_estimates = {
    Row{"mop", mop_estimate},
    Row{"task_parallel", task_parallel_estimate},
    Row{"model_averaging", model_averaging_estimate},
    Row{"allreduce", allreduce_estimate},
    Row{"parameter_server", parameter_server_estimate},
    Row{"sequential", sequential_estimate},
};

}  // namespace

std::optional<Estimate> estimate_run(RunToEstimate const& run) {
    auto const row = std::ranges::find(k_estimates, run.strategy.name, &Row::strategy);
    if (row == k_estimates.end()) throw Error(fmt::format("strategy \"{}\" has no estimate of its cost", run.strategy.name));
    return row->estimate(run);
}

}  // namespace hopscotch
