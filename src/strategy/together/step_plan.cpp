// SPDX-License-Identifier: Apache-2.0
#include "strategy/together/step_plan.hpp"

#include <algorithm>

#include "data/batches/batches.hpp"
#include "data/dataset/manifest.hpp"
#include "experiment/config.hpp"
#include "schedule/visit.hpp"

namespace hopscotch {
namespace {

void append_updates(std::vector<std::int64_t>& out, std::int64_t shard_rows, TrialConfig const& config,
                    std::int64_t batch_size) {
    auto const cut = batches(shard_rows, batch_size, config.data.last_batch);
    auto const accumulate = static_cast<std::size_t>(config.train.accumulate);
    for (std::size_t i = 0; i < cut.size(); i += accumulate) {
        out.push_back(0);
        for (std::size_t j = i; j < std::min(cut.size(), i + accumulate); ++j) out.back() += cut[j].size;
    }
}

}  // namespace

StepPlan::StepPlan(std::vector<std::vector<std::int64_t>> rows) : rows_(std::move(rows)) {
    std::size_t longest = 0;
    for (auto const& each : rows_) longest = std::max(longest, each.size());
    total_.resize(longest);
    for (auto const& each : rows_)
        for (std::size_t i = 0; i < each.size(); ++i) total_[i] += each[i];
}

std::int64_t StepPlan::rows(int trainer, std::int64_t step) const {
    auto const& mine = rows_[static_cast<std::size_t>(trainer)];
    return static_cast<std::size_t>(step) < mine.size() ? mine[static_cast<std::size_t>(step)] : 0;
}

double StepPlan::share(int trainer, std::int64_t step) const {
    return static_cast<double>(rows(trainer, step)) / static_cast<double>(total(step));
}

std::vector<TrainerId> group_of(OwnerTable const& owners) {
    std::vector<TrainerId> out(owners.owner);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

std::int64_t local_batch(std::int64_t batch, int k, int trainers) {
    return batch / trainers + (k < batch % trainers ? 1 : 0);
}

std::vector<std::int64_t> local_batches(StrategyConfig const& strategy, TrialConfig const& config, int trainers) {
    std::vector<std::int64_t> out;
    for (int k = 0; k < trainers; ++k)
        out.push_back(strategy.batch == GroupBatch::split ? local_batch(config.train.batch_size, k, trainers)
                                                          : config.train.batch_size);
    return out;
}

std::vector<ShardId> own_visits(OwnerTable const& owners, TrainerId trainer, TrialId trial) {
    std::vector<ShardId> out;
    auto const shards = static_cast<int>(owners.owner.size());
    for (int step = 0; step < shards; ++step)
        if (auto const shard = planned_shard(trial, step, shards); owners.of(shard) == trainer) out.push_back(shard);
    return out;
}

StepPlan make_step_plan(StepPlanRequest const& request) {
    std::vector<std::vector<std::int64_t>> rows;
    for (auto const trainer : group_of(request.owners)) {
        auto const batch_size = request.batch_sizes[rows.size()];
        auto& mine = rows.emplace_back();
        for (auto const shard : own_visits(request.owners, trainer, request.trial))
            append_updates(mine, request.manifest.train[shard.index()].rows, request.config, batch_size);
    }
    return StepPlan(std::move(rows));
}

StepPlan plan_of_bundle(Manifest const& manifest, std::vector<ShardId> const& shards, StrategyConfig const& strategy,
                        TrialConfig const& config) {
    auto const batch_sizes = local_batches(strategy, config, static_cast<int>(shards.size()));
    std::vector<std::vector<std::int64_t>> rows(shards.size());
    for (std::size_t k = 0; k < shards.size(); ++k)
        append_updates(rows[k], manifest.train[shards[k].index()].rows, config, batch_sizes[k]);
    return StepPlan(std::move(rows));
}

}  // namespace hopscotch
