// SPDX-License-Identifier: Apache-2.0
#include "strategy/allreduce/allreduce.hpp"

#include <fmt/format.h>

#include "strategy/together/buckets.hpp"
#include "strategy/together/group_trainer.hpp"
#include "strategy/together/sync_statistics.hpp"

namespace hopscotch {
namespace {

class Allreduce : public GroupTrainer {
public:
    explicit Allreduce(Resources resources) : GroupTrainer(std::move(resources)) {}

private:
    void train_lap(SharedLap& mine, StepPlan const& plan, Journey& journey) override {
        auto const& config = resources_.experiment.strategy;
        auto* const nccl = device_sum();
        bool const on_device = nccl != nullptr && mine.device_gradient();
        WeightedSum& sum = on_device ? *nccl : courier_;
        mine.before_waits([&sum] { sum.settle(); });
        Buckets buckets(sum, cut_buckets(mine.model().state->layout(), bucket_sizes(config),
                                         config_of(mine.lap()).train.optimizer));
        // A GPU's step that reports its gradients on the way cannot be a CUDA graph, and with one bucket there is nothing to
        // start early.
        GradientReady ready;
        if (!on_device || buckets.ranges().size() > 1)
            ready = [&](std::size_t first, std::size_t last) { buckets.ready(first, last); };
        SyncStatistics statistics(group_, mine.model(), config.batch_norm);
        for (auto step = journey.batches; step < plan.steps(); ++step) {
            statistics.begin_step(fmt::format("batch statistics of {}", place(mine.lap(), step)));
            buckets.begin(on_device ? *mine.device_gradient() : in_host_memory(mine.gradient()),
                          plan.share(group_.self(), step), fmt::format("gradient of {}", place(mine.lap(), step)));
            mine.next_gradient(ready);
            statistics.end_step();
            buckets.finish();
            group_.delay_if_injected();
            mine.update(plan.total(step));
            look_at_clock(mine, journey, step + 1);
        }
        sum.settle();
        journey.record.sync_rounds = plan.steps();
    }

    CourierSum courier_{group_, all_reduce_of(resources_.experiment.strategy.algorithm)};
};

}  // namespace

std::unique_ptr<Strategy> make_allreduce(Resources resources) { return std::make_unique<Allreduce>(std::move(resources)); }

}  // namespace hopscotch
