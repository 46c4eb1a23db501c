// SPDX-License-Identifier: Apache-2.0
// The steps of an epoch that several trainers train together: the number of rows of each trainer in each step. All trainers
// compute the same plan from the manifest, without messages. A trainer whose rows are used up takes part with zero rows.
// Two trainers, shards of 5 and 3 rows, local batches of 2:
//   trainer 0: 2 3        trainer 1: 3 -        (a remainder of one row joins the batch before it)
#pragma once
#include <cstdint>
#include <vector>

#include "core/ids.hpp"

namespace hopscotch {

struct Manifest;
struct OwnerTable;
struct StrategyConfig;
struct TrialConfig;

class StepPlan {
public:
    // rows: of every update, by trainer; all trainers of the group, in order.
    explicit StepPlan(std::vector<std::vector<std::int64_t>> rows);

    int trainers() const { return static_cast<int>(rows_.size()); }
    std::int64_t steps() const { return static_cast<std::int64_t>(total_.size()); }
    std::int64_t own_steps(int trainer) const {
        return static_cast<std::int64_t>(rows_[static_cast<std::size_t>(trainer)].size());
    }
    std::int64_t rows(int trainer, std::int64_t step) const;  // 0: it has none left
    std::int64_t total(std::int64_t step) const { return total_[static_cast<std::size_t>(step)]; }
    // rows / total: the weight of this trainer's mean gradient.
    double share(int trainer, std::int64_t step) const;

private:
    std::vector<std::vector<std::int64_t>> rows_;
    std::vector<std::int64_t> total_;
};

// The trainers that own shards: they train together, in this order.
std::vector<TrainerId> group_of(OwnerTable const& owners);

// The rows of the k-th trainer in a global batch: equal parts, the first ones one row more.
std::int64_t local_batch(std::int64_t batch, int k, int trainers);

// The same for every trainer of the group, as the strategy's `batch` says.
std::vector<std::int64_t> local_batches(StrategyConfig const& strategy, TrialConfig const& config, int trainers);

// The trainer's own shards in the visit order of this trial: with one trainer the order of `sequential`.
std::vector<ShardId> own_visits(OwnerTable const& owners, TrainerId trainer, TrialId trial);

// batch_sizes: local, by trainer of the group. An update is `accumulate` batches of a shard.
struct StepPlanRequest {
    Manifest const& manifest;
    OwnerTable const& owners;
    TrialConfig const& config;
    TrialId trial;
    std::vector<std::int64_t> batch_sizes;
};
StepPlan make_step_plan(StepPlanRequest const& request);

// Of a unit of mop that a group trains, each member on its own one of these shards.
StepPlan plan_of_bundle(Manifest const& manifest, std::vector<ShardId> const& shards, StrategyConfig const& strategy,
                        TrialConfig const& config);

}  // namespace hopscotch
