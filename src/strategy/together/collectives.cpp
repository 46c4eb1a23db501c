// SPDX-License-Identifier: Apache-2.0
#include "strategy/together/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "experiment/config.hpp"
#include "experiment/strategy_traits.hpp"
#include "strategy/common/resources.hpp"
#include "strategy/together/step_plan.hpp"

namespace hopscotch {
namespace {

// The setting that rules NCCL out; empty: none.
std::string against(StrategyConfig const& strategy, RunConfig const& run) {
    if (strategy.reduce.algorithm == ReduceAlgorithm::deterministic)
        return "strategy.algorithm is deterministic, and NCCL has an order of sums of its own";
    if (strategy.averaging.via == AverageVia::master) return "strategy.via is master, and NCCL has no master";
    if (strategy.batch_norm == NormStatistics::sync) return "strategy.batch_norm is sync, whose sums go through host memory";
    if (run.gpu.deterministic) return "run.deterministic is true, and replay cannot know NCCL's order of sums";
    return "";
}

// The trainers that rule NCCL out.
std::string against(std::map<Rank, HostDevice> const& group) {
    std::map<std::string, Rank> ranks;
    for (auto const& [rank, trainer] : group) {
        if (!trainer.device.is_gpu()) return fmt::format("rank {} ({}) has no GPU", rank.value, trainer.host);
        auto const [first, is_new] = ranks.emplace(trainer.device.uuid, rank);
        if (!is_new)
            return fmt::format("ranks {} and {} share one GPU ({}), and NCCL wants one for each", first->second.value,
                               rank.value, trainer.device.uuid);
    }
    return "";
}

[[noreturn]] void refuse(std::string const& why) {
    throw ConfigError(fmt::format(
        "strategy.collectives is \"nccl\", which is not possible here ({}); set it to \"auto\" or \"mpi\"", why));
}

}  // namespace

bool has_collectives(StrategyConfig const& strategy) { return has_setting(strategy.name, "collectives"); }

bool collectives_depend_on_devices(StrategyConfig const& strategy, RunConfig const& run) {
    if (!has_collectives(strategy) || strategy.reduce.collectives == Collectives::mpi) return false;
    auto const why = against(strategy, run);
    if (!why.empty() && strategy.reduce.collectives == Collectives::nccl) refuse(why);
    return why.empty();
}

CollectivesChoice choose_collectives(StrategyConfig const& strategy, RunConfig const& run,
                                     std::map<Rank, HostDevice> const& group) {
    if (!has_collectives(strategy) || strategy.reduce.collectives == Collectives::mpi) return {};
    bool const demanded = strategy.reduce.collectives == Collectives::nccl;
    auto why = against(strategy, run);
    if (why.empty()) why = against(group);
    if (why.empty() && (demanded || group.size() > 1)) return {Collectives::nccl, ""};
    if (demanded) refuse(why);
    // One trainer has nothing to add up, and a job without GPUs needs no reason.
    bool const any_gpu = std::ranges::any_of(group, [](auto const& entry) { return entry.second.device.is_gpu(); });
    return {Collectives::mpi, any_gpu && group.size() > 1 ? why : ""};
}

CollectivesChoice choose_collectives(Experiment const& experiment, OwnerTable const& owners,
                                     std::map<Rank, HostDevice> const& trainers) {
    std::map<Rank, HostDevice> group;
    for (auto const trainer : group_of(owners))
        if (auto const found = trainers.find(rank_of(trainer)); found != trainers.end()) group.insert(*found);
    return choose_collectives(experiment.strategy, experiment.run, group);
}

}  // namespace hopscotch
