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
#include "core/unit_parts.hpp"
#include "data/batches/shard_source.hpp"
#include "data/batches/unit.hpp"
#include "model/gpu/device.hpp"
#include "model/state/state.hpp"
#include "model/trial/training_pass.hpp"
#include "model/trial/trial_state.hpp"
#include "schedule/lap.hpp"
#include "schedule/visit.hpp"
#include "strategy/common/journey.hpp"
#include "strategy/common/trainer_gpu.hpp"
#include "strategy/trainer/job_ended.hpp"
#include "strategy/trainer/trial_failure.hpp"

namespace hopscotch {

namespace {

std::string name_of_unit(ShardId shard) { return fmt::format("unit on shard {}", shard.value); }

}  // namespace

UnitAddress TrialRunner::address_of(Lap const& lap, ShardId shard) {
    return {static_cast<std::uint64_t>(experiment_.seed), config_of(lap).seed_key(lap.trial), lap.epoch, shard};
}

Buffer TrialRunner::initial_state(Lap const& lap, BufferPool& pool) {
    auto& trial_model = model(lap);
    auto state = [&] {
        PartTimer const timing(UnitPart::memory);
        return pool.acquire(trial_model.state->layout().bytes);
    }();
    trial_model.state->initialise(state.bytes(), static_cast<std::uint64_t>(experiment_.seed),
                                  config_of(lap).seed_key(lap.trial), seat_.cores);
    return state;
}

void TrialRunner::look_at_device(std::string const& after) {
    auto const complaint = seat_.gpu ? seat_.gpu->complaint(device_) : device_complaint(device_);
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
        throw;  // a lost rank does not make a bad trial
    } catch (std::exception const& error) {
        auto const why = words_of(error);
        look_at_device(fmt::format("{} of trial {}, epoch {}: {}", what, journey.lap.trial.value, journey.lap.epoch, why));
        record.outcome = Outcome::failed;
        record.cause = cause_of(error);
        record.reason = fmt::format("{} of epoch {} on trainer {} ({}): {}", what, journey.lap.epoch, seat_.self.value,
                                    host_name(), why);
    }
}

std::function<void()> TrialRunner::batch_sign(Activity* activity) const {
    auto const factor_now = experiment_.run.inject.slowness_of(seat_.self.value + 1, units_);
    return [activity, factor = factor_now, last = monotonic_s()]() mutable {
        if (factor > 1) std::this_thread::sleep_for(std::chrono::duration<double>((monotonic_s() - last) * (factor - 1)));
        last = factor > 1 ? monotonic_s() : last;
        if (activity == nullptr) return;
        ++activity->batches;
        if (activity->leave.load(std::memory_order_relaxed)) throw JobEnded{};
    };
}

void TrialRunner::train_rest(Journey& journey, TrialModel& trial_model, Activity* activity, OnTheWay const* on_the_way) {
    auto const& lap = journey.lap;
    auto const shard = shard_of(journey);
    fault_point("unit.rows");
    trial_model.training->begin_pass(*train_.at(shard), address_of(lap, shard), trial_model.training->batch_size());
    if (journey.unit.batches > 0)
        trial_model.training->skip_to({journey.unit.batches, {journey.unit.rows, journey.unit.loss_sum}});
    auto const sign = batch_sign(activity);
    while (trial_model.training->next_updates(sign) > 0) {
        if (on_the_way == nullptr || !on_the_way->wanted()) continue;
        auto const cursor = trial_model.training->cursor();
        journey.unit.batches = cursor.batches;
        journey.unit.rows = cursor.sums.rows;
        journey.unit.loss_sum = cursor.sums.loss;
        on_the_way->take();
    }
    journey.unit.batches = journey.unit.rows = 0;
    journey.unit.loss_sum = 0;
}

namespace {

void diverge(Journey& journey, ShardId shard, std::string_view what) {
    journey.record.outcome = Outcome::diverged;
    journey.record.reason = fmt::format("epoch {}, {}: {} is not finite (a smaller learning rate may help)",
                                        journey.lap.epoch, name_of_unit(shard), what);
}

}  // namespace

void TrialRunner::end_unit(Journey& journey, std::uint64_t hash, bool finite) {
    auto& unit = journey.record.units.back();
    unit.state_hash = journey.record.state.hash = hash;
    auto const parts = packed(take_part_times());  // of the thread that hashed the state
    unit.parts.insert(unit.parts.end(), parts.begin(), parts.end());
    if (!finite && journey.record.outcome == Outcome::finished) diverge(journey, unit.shard, "the state");
}

void TrialRunner::run_unit(Journey& journey, MutableBytes state, Activity* activity, OnTheWay const* on_the_way,
                           UnitHash hash) {
    auto const& lap = journey.lap;
    auto const shard = shard_of(journey);
    if (held_out(lap).has(shard)) return evaluate_held_out(journey, state, activity);
    guarded(journey, name_of_unit(shard), [&] {
        auto& trial_model = model(lap);
        journey.bound = trial_model.state->bind_again(state, journey.bound);
        UnitRecord unit;
        unit.shard = shard;
        unit.trainer = seat_.self;
        train_rest(journey, trial_model, activity, on_the_way);
        auto const sums = trial_model.training->end_pass(hash == UnitHash::later ? StateBack::later : StateBack::now);
        ++units_;
        unit.rows = sums.rows;
        unit.loss_sum = sums.loss;
        bool const ends_later = hash == UnitHash::later && std::isfinite(sums.loss);
        if (hash == UnitHash::later && !ends_later) trial_model.state->fetch();
        auto const check = ends_later ? StateCheck{} : check_state(state, trial_model.state->layout());
        journey.record.state.lr = trial_model.training->learning_rate();
        unit.parts = packed(take_part_times());
        journey.record.units.push_back(unit);
        if (!std::isfinite(sums.loss)) diverge(journey, shard, "the loss");
        if (!ends_later) end_unit(journey, check.hash, check.finite);
    });
    ++journey.step;
    journey.shard = {};
}

// States that wait can be checked too: they need no model.
std::shared_ptr<StateLayout const> const& TrialRunner::shared_layout(Lap const& lap) {
    auto const& mine = trial(lap);
    if (!mine.layout) model(lap);
    return mine.layout;
}

std::shared_ptr<TrialState> TrialRunner::known_state(Lap const& lap) const {
    auto const known = trials_.find(lap.trial);
    return known != trials_.end() && known->second.assignment == lap.assignment ? known->second.model.state : nullptr;
}

}  // namespace hopscotch
