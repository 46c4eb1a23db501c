// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/trial_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "comm/activity.hpp"
#include "comm/buffer_pool.hpp"
#include "comm/world.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "data/batches/shard_source.hpp"
#include "data/batches/unit.hpp"
#include "model/gpu/device.hpp"
#include "model/state/state.hpp"
#include "model/trial/training_pass.hpp"
#include "model/trial/trial_state.hpp"
#include "schedule/lap.hpp"
#include "schedule/visit.hpp"
#include "strategy/common/journey.hpp"
#include "strategy/trainer/job_ended.hpp"
#include "strategy/trainer/trial_failure.hpp"

namespace hopscotch {

UnitAddress TrialRunner::address_of(Lap const& lap, ShardId shard) {
    return {static_cast<std::uint64_t>(experiment_.seed), config_of(lap).seed_key(lap.trial), lap.epoch, shard};
}

Buffer TrialRunner::initial_state(Lap const& lap, BufferPool& pool) {
    auto& trial_model = model(lap);
    auto state = pool.acquire(trial_model.state->layout().bytes);
    trial_model.state->initialise(state.bytes(), static_cast<std::uint64_t>(experiment_.seed),
                                  config_of(lap).seed_key(lap.trial));
    return state;
}

void TrialRunner::look_at_device(std::string const& after) {
    auto const complaint = device_complaint(device_);
    if (!complaint || !broken_.empty()) return;
    broken_ = fmt::format(
        "{}; {} cannot be used any more by this process ({}); look at nvidia-smi and the system's log, and go on with "
        "--resume",
        after, device_, complaint->text);
    if (!complaint->of_the_work) require_device();
}

void TrialRunner::require_device() const {
    if (!broken_.empty()) throw CommError(broken_);
}

// A failing trial never hurts another: its exception becomes its outcome.
void TrialRunner::guarded(Journey& journey, std::string const& what, std::function<void()> const& work) {
    auto& record = journey.record;
    try {
        work();
    } catch (CommError const&) {
        throw;  // a lost rank is no bad trial
    } catch (std::exception const& error) {
        auto const why = words_of(error);
        look_at_device(fmt::format("{} of trial {}, epoch {}: {}", what, journey.lap.trial.value, journey.lap.epoch, why));
        record.outcome = Outcome::failed;
        record.cause = cause_of(error);
        record.reason =
            fmt::format("{} of epoch {} on trainer {} ({}): {}", what, journey.lap.epoch, self_.value, host_name(), why);
    }
}

std::function<void()> TrialRunner::batch_sign(Activity* activity) const {
    auto const factor_now = experiment_.run.inject.slowness_of(self_.value + 1, units_);
    return [activity, factor = factor_now, last = monotonic_s()]() mutable {
        if (factor > 1) std::this_thread::sleep_for(std::chrono::duration<double>((monotonic_s() - last) * (factor - 1)));
        last = factor > 1 ? monotonic_s() : last;
        if (activity == nullptr) return;
        ++activity->batches;
        if (activity->leave.load(std::memory_order_relaxed)) throw JobEnded{};
    };
}

UnitSums TrialRunner::train_rest(Journey& journey, TrialModel& trial_model, Activity* activity, OnTheWay const* on_the_way) {
    auto const& lap = journey.lap;
    auto const shard = shard_of(journey);
    fault_point("unit.rows");
    trial_model.training->begin_pass(*train_.at(shard), address_of(lap, shard), trial_model.training->batch_size());
    if (journey.batches > 0) trial_model.training->skip_to({journey.batches, {journey.rows, journey.loss_sum}});
    auto const sign = batch_sign(activity);
    while (auto const rows = trial_model.training->next_gradient({}, sign)) {
        trial_model.training->update(rows);
        if (on_the_way == nullptr || !on_the_way->wanted()) continue;
        auto const cursor = trial_model.training->cursor();
        journey.batches = cursor.batches;
        journey.rows = cursor.sums.rows;
        journey.loss_sum = cursor.sums.loss;
        on_the_way->take();
    }
    journey.batches = journey.rows = 0;
    journey.loss_sum = 0;
    return trial_model.training->end_pass();
}

void TrialRunner::run_unit(Journey& journey, MutableBytes state, Activity* activity, OnTheWay const* on_the_way) {
    auto const& lap = journey.lap;
    auto const shard = shard_of(journey);
    if (held_out(lap).has(shard)) return evaluate_held_out(journey, state, activity);
    auto const what = fmt::format("unit on shard {}", shard.value);
    guarded(journey, what, [&] {
        auto& trial_model = model(lap);
        trial_model.state->bind(state);
        UnitRecord unit;
        unit.shard = shard;
        unit.trainer = self_;
        unit.start_unix_s = unix_s();
        auto const start = monotonic_s();
        auto const sums = train_rest(journey, trial_model, activity, on_the_way);
        ++units_;
        unit.rows = sums.rows;
        unit.loss_sum = sums.loss;
        unit.state_hash = state_hash(state, trial_model.state->layout());
        journey.record.lr = trial_model.training->learning_rate();
        journey.record.state_hash = unit.state_hash;
        if (!std::isfinite(sums.loss) || !trial_model.state->finite()) {
            journey.record.outcome = Outcome::diverged;
            journey.record.reason = fmt::format("epoch {}, {}: {} is not finite (a smaller learning rate may help)",
                                                lap.epoch, what, std::isfinite(sums.loss) ? "the state" : "the loss");
        }
        unit.seconds = monotonic_s() - start;
        journey.record.units.push_back(unit);
    });
    ++journey.step;
    journey.shard = {};
}

// States that wait are looked at too: they need no model.
StateLayout const& TrialRunner::layout(Lap const& lap) {
    auto const& mine = trial(lap);
    if (!mine.layout) model(lap);
    return *mine.layout;
}

}  // namespace hopscotch
