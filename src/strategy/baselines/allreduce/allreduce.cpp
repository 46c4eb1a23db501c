// SPDX-License-Identifier: Apache-2.0
#include "strategy/baselines/allreduce/allreduce.hpp"

#include "strategy/together/buckets.hpp"
#include "strategy/together/group_trainer.hpp"
#include "strategy/together/lock_step.hpp"
#include "strategy/together/step_plan.hpp"
#include "strategy/together/weighted_sum.hpp"

namespace hopscotch {
namespace {

class AllreduceWorker : public GroupTrainer {
public:
    explicit AllreduceWorker(WorkerResources const& resources) : GroupTrainer(resources) {}

private:
    void train_lap(SharedLap& mine, StepPlan const& plan, Journey& journey) override {
        auto* const nccl = device_sum();
        bool const on_device = nccl != nullptr && mine.device_gradient();
        WeightedSum& sum = on_device ? *nccl : courier_sum_;
        LockStep const with{group_, sum, on_device, resources().experiment.strategy, config_of(mine.lap())};
        train_steps(with, mine, plan, journey.unit.batches,
                    [&](std::int64_t steps) { look_at_clock(mine, journey, steps); });
        journey.record.sync.rounds = plan.steps();
    }

    CourierSum courier_sum_{group_, all_reduce_of(resources().experiment.strategy.reduce.algorithm)};
};

}  // namespace

std::unique_ptr<Worker> make_allreduce_worker(WorkerResources const& resources) {
    return std::make_unique<AllreduceWorker>(resources);
}

}  // namespace hopscotch
