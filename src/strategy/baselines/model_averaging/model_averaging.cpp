// SPDX-License-Identifier: Apache-2.0
#include "strategy/baselines/model_averaging/model_averaging.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "model/state/state.hpp"
#include "strategy/together/buckets.hpp"
#include "strategy/together/group_trainer.hpp"
#include "strategy/together/step_plan.hpp"
#include "strategy/together/weighted_sum.hpp"

namespace hopscotch {

void take_outer_step(OuterOptimizer const& outer, OuterStep const& step) {
    auto const lr = static_cast<float>(outer.lr), momentum = static_cast<float>(outer.momentum);
    for (std::size_t i = 0; i < step.parameters.size(); ++i) {
        auto const delta = step.anchor[i] - step.parameters[i];
        auto change = delta;
        if (!step.velocity.empty()) {
            step.velocity[i] = momentum * step.velocity[i] + delta;
            change = outer.nesterov ? delta + momentum * step.velocity[i] : step.velocity[i];
        }
        step.parameters[i] = step.anchor[i] - lr * change;
    }
}

namespace {

// The parameters of a state and, in the same layout, its slots, by their treatment at a mean.
struct Ranges {
    FloatRange parameters, outer, ema;
    std::vector<FloatRange> optimizer;
};

Ranges ranges_of(StateLayout const& layout) {
    auto const length = layout.end_of(Block::parameter) / sizeof(float);
    Ranges out{{0, length}, {}, {}, {}};
    for (auto const& slot : slot_ranges(layout)) {
        FloatRange const range{slot.first, length};
        if (slot.kind == k_ema_slot)
            out.ema = range;
        else if (slot.kind == k_outer_slot)
            out.outer = range;
        else
            out.optimizer.push_back(range);
    }
    return out;
}

std::span<float> floats_of(MutableBytes state, FloatRange const& range) {
    return std::span(reinterpret_cast<float*>(state.data()), state.size() / sizeof(float)).subspan(range.first, range.size);
}

// With local slots the members' states differ, and no file of one member holds all of a state.
class ModelAveragingWorker : public GroupTrainer {
public:
    explicit ModelAveragingWorker(WorkerResources const& resources)
        : GroupTrainer(resources, has_local_slots(resources) ? Same::parameters : Same::state,
                       has_local_slots(resources) ? StateKeeper::Holds::parts : StateKeeper::Holds::whole_states) {}

private:
    void train_lap(SharedLap& mine, StepPlan const& plan, Journey& journey) override;
    static bool has_local_slots(Resources const& resources) {
        return resources.experiment.strategy.averaging.momentum == SlotPolicy::local;
    }

    struct Round {
        std::int64_t first = 0, last = 0;  // steps
        double share = 1;                  // of this trainer in the mean
    };
    Round round_from(std::int64_t first, StepPlan const& plan) const;
    void average(SharedLap& mine, Round const& round, std::vector<float>& anchor);
    void add_up_means(SharedLap& mine, Round const& round, WeightedSum& sum, DeviceFloats state);
    void work_on_host(SharedLap& mine, std::vector<float>& anchor);

    StrategyConfig const& config() const { return resources().experiment.strategy; }
    AllReduce algorithm() const {
        return config().averaging.via == AverageVia::master ? AllReduce::star : all_reduce_of(config().reduce.algorithm);
    }

    CourierSum courier_sum_{group_, algorithm()};
};

ModelAveragingWorker::Round ModelAveragingWorker::round_from(std::int64_t first, StepPlan const& plan) const {
    auto const left = plan.steps() - first;
    Round round{first, first + (config().averaging.every == 0 ? left : std::min(left, config().averaging.every)), 1};
    std::int64_t rows = 0, all = 0;
    for (auto step = round.first; step < round.last; ++step) {
        rows += plan.rows(group_.self(), step);
        all += plan.total(step);
    }
    round.share = static_cast<double>(rows) / static_cast<double>(all);
    return round;
}

// anchor: the parameters after the last mean, for the outer optimizer; an epoch ends with a mean, so it starts from one.
void ModelAveragingWorker::train_lap(SharedLap& mine, StepPlan const& plan, Journey& journey) {
    auto const start = floats_of(mine.state(), ranges_of(mine.layout()).parameters);
    std::vector<float> anchor;
    if (config().averaging.outer) anchor.assign(start.begin(), start.end());
    for (Round round{0, journey.unit.batches}; round.last < plan.steps();) {
        round = round_from(round.last, plan);
        for (auto step = round.first; step < round.last; ++step) {
            if (mine.next_gradient() > 0)
                mine.update(plan.total(step));
            else
                mine.count(plan.total(step));
        }
        average(mine, round, anchor);
        group_.delay_if_injected();
        ++journey.record.sync.rounds;
        look_at_clock(mine, journey, round.last);
    }
}

void ModelAveragingWorker::average(SharedLap& mine, Round const& round, std::vector<float>& anchor) {
    if (group_.size() == 1 && !config().averaging.outer) return;
    auto* const nccl = device_sum();
    auto const on_device = nccl != nullptr ? mine.device_state() : std::nullopt;
    if (on_device) {
        add_up_means(mine, round, *nccl, *on_device);
        nccl->settle();  // before the next step is launched: the launch could make the host wait without a deadline
        bool const resets = config().averaging.momentum == SlotPolicy::reset && !ranges_of(mine.layout()).optimizer.empty();
        if (!config().averaging.outer && !resets) return;
        mine.fetch();
    } else {
        mine.fetch();
        add_up_means(mine, round, courier_sum_,
                     in_host_memory(floats_of(mine.state(), {0, mine.state().size() / sizeof(float)})));
    }
    work_on_host(mine, anchor);
    mine.store();
}

void ModelAveragingWorker::add_up_means(SharedLap& mine, Round const& round, WeightedSum& sum, DeviceFloats state) {
    auto const& layout = mine.layout();
    auto const ranges = ranges_of(layout);
    Buckets buckets(sum, cut_buckets(layout, bucket_sizes(config())));
    auto const mean = [&](FloatRange const& range, char const* what) {
        if (range.size == 0) return;
        buckets.begin(state.part(range.first, range.size), round.share,
                      fmt::format("mean of {} of {}", what, place_of(mine.lap(), round.last - 1)));
        buckets.finish();
    };
    mean(ranges.parameters, "parameters");
    if (config().averaging.momentum == SlotPolicy::averaged)
        for (auto const& slot : ranges.optimizer) mean(slot, "slots");
    mean(ranges.ema, "averaged weights");
}

void ModelAveragingWorker::work_on_host(SharedLap& mine, std::vector<float>& anchor) {
    auto const ranges = ranges_of(mine.layout());
    auto const floats = [&](FloatRange const& range) { return floats_of(mine.state(), range); };
    if (config().averaging.momentum == SlotPolicy::reset)
        for (auto const& slot : ranges.optimizer) std::ranges::fill(floats(slot), 0.0F);
    if (!config().averaging.outer) return;
    auto const parameters = floats(ranges.parameters);
    take_outer_step(*config().averaging.outer, {anchor, parameters, floats(ranges.outer)});
    anchor.assign(parameters.begin(), parameters.end());
}

}  // namespace

std::unique_ptr<Worker> make_model_averaging_worker(WorkerResources const& resources) {
    return std::make_unique<ModelAveragingWorker>(resources);
}

}  // namespace hopscotch
