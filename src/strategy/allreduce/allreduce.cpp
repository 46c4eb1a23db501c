// SPDX-License-Identifier: Apache-2.0
#include "strategy/allreduce/allreduce.hpp"

#include <fmt/format.h>

#include "strategy/together/buckets.hpp"
#include "strategy/together/group_trainer.hpp"
#include "strategy/together/step_plan.hpp"
#include "strategy/together/sync_statistics.hpp"
#include "strategy/together/weighted_sum.hpp"

namespace hopscotch {
namespace {

class AllreduceWorker : public GroupTrainer {
public:
    explicit AllreduceWorker(WorkerResources const& resources) : GroupTrainer(resources) {}

private:
    void train_lap(SharedLap& mine, StepPlan const& plan, Journey& journey) override {
        auto const& config = resources().experiment.strategy;
        auto* const nccl = device_sum();
        bool const on_device = nccl != nullptr && mine.device_gradient();
        WeightedSum& sum = on_device ? *nccl : courier_sum_;
        mine.before_waits([&sum] { sum.settle(); });
        Buckets buckets(sum, cut_buckets(mine.layout(), bucket_sizes(config), config_of(mine.lap()).train.optimizer));
        // A step that reports its gradients on the way cannot be a CUDA graph, and one bucket alone cannot start early.
        GradientReady ready;
        if (!on_device || buckets.ranges().size() > 1)
            ready = [&](std::size_t first, std::size_t last) { buckets.ready(first, last); };
        SyncStatistics statistics(group_, mine.training(), config.batch_norm);
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

    CourierSum courier_sum_{group_, all_reduce_of(resources().experiment.strategy.algorithm)};
};

}  // namespace

std::unique_ptr<Worker> make_allreduce_worker(WorkerResources const& resources) {
    return std::make_unique<AllreduceWorker>(resources);
}

}  // namespace hopscotch
