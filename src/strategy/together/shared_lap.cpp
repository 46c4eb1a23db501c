// SPDX-License-Identifier: Apache-2.0
#include "strategy/together/shared_lap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/activity.hpp"
#include "comm/world.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "model/state/state.hpp"
#include "model/trial/training_pass.hpp"
#include "model/trial/trial_model.hpp"
#include "model/trial/trial_state.hpp"
#include "strategy/together/group_messages.hpp"
#include "strategy/trainer/job_ended.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {

std::string place_of(Lap const& lap, std::int64_t step) {
    return fmt::format("trial {}, epoch {}, step {}", lap.trial.value, lap.epoch, step);
}

SharedLap::SharedLap(TrialRunner& runner, Part part, Activity& activity)
    : runner_(runner), part_(std::move(part)), activity_(activity), model_(runner.model(part_.lap)) {
    model_.state->bind(part_.state);
}

template <class Work>
void SharedLap::guarded(Work work) {
    if (outcome_ == Outcome::failed) return;
    auto const start = monotonic_s();
    try {
        work();
    } catch (CommError const&) {
        throw;  // a lost rank does not make a bad trial
    } catch (std::exception const& error) {
        runner_.look_at_device(fmt::format("trial {}, epoch {}: {}", part_.lap.trial.value, part_.lap.epoch, error.what()));
        outcome_ = Outcome::failed;
        reason_ = fmt::format("unit on shard {} of epoch {} on trainer {} ({}): {}",
                              units_.empty() ? -1 : units_.back().shard.value, part_.lap.epoch, runner_.self().value,
                              host_name(), error.what());
    }
    if (!units_.empty()) units_.back().seconds += monotonic_s() - start;
}

bool SharedLap::open_next_shard() {
    if (next_shard_ == part_.shards.size()) return false;
    if (open_) close_pass();
    auto const shard = part_.shards[next_shard_++];
    UnitRecord unit;
    unit.shard = shard;
    unit.trainer = runner_.self();
    unit.start_unix_s = unix_s();
    unit.wait_s = -1;
    units_.push_back(unit);
    open(shard);
    return true;
}

void SharedLap::open(ShardId shard) {
    activity_.shard = shard.value;
    model_.training->begin_pass(runner_.shard(shard), runner_.address_of(part_.lap, shard), part_.batch_size);
    open_ = true;
}

namespace {

template <class Work>
void each_own(SharedLap::Own own, StateLayout const& layout, MutableBytes state, Work work) {
    for (auto const& tensor : layout.tensors)
        if (tensor.block == Block::buffer || (own == SharedLap::Own::buffers_and_slots && tensor.block == Block::slot))
            work(state.subspan(tensor.offset, tensor.bytes));
}

}  // namespace

MemberPlace SharedLap::place(Own own) {
    MemberPlace out;
    before_waits_();
    guarded([&] {
        if (open_) {
            auto const cursor = model_.training->cursor();
            out.batches = cursor.batches;
            out.rows = cursor.sums.rows;
            out.loss_sum = cursor.sums.loss;
        }
        each_own(own, model_.state->layout(), part_.state,
                 [&](MutableBytes bytes) { out.own.insert(out.own.end(), bytes.begin(), bytes.end()); });
    });
    out.units = units_;
    out.failed = outcome_ != Outcome::finished;
    return out;
}

void SharedLap::go_on(MemberPlace const& place, Own own) {
    std::size_t at = 0;
    each_own(own, model_.state->layout(), part_.state, [&](MutableBytes bytes) {
        require(bytes.size() <= place.own.size() - at, "a checkpoint of another model");
        std::copy_n(place.own.begin() + static_cast<std::ptrdiff_t>(at), bytes.size(), bytes.begin());
        at += bytes.size();
    });
    model_.state->bind(part_.state);  // with everything that has been written
    require(place.units.size() <= part_.shards.size(), "a checkpoint with the units of another trainer");
    units_ = place.units;
    next_shard_ = units_.size();
    if (units_.empty()) return;
    open(part_.shards[next_shard_ - 1]);
    model_.training->skip_to({place.batches, {place.rows, place.loss_sum}});
}

void SharedLap::close_pass() {
    before_waits_();
    auto const sums = model_.training->end_pass();
    units_.back().rows = sums.rows;
    units_.back().loss_sum = sums.loss;
    open_ = false;
    activity_.flops += part_.lap.unit_cost;
    if (std::isfinite(sums.loss) || outcome_ != Outcome::finished) return;
    outcome_ = Outcome::diverged;
    reason_ = fmt::format("epoch {}, shard {}: the loss is not finite (a smaller learning rate may help)", part_.lap.epoch,
                          units_.back().shard.value);
}

// The last pass stays open for the updates that follow without rows of this trainer.
std::int64_t SharedLap::next_gradient(GradientReady const& ready) {
    std::int64_t rows = 0;
    guarded([&] {
        while (open_ || open_next_shard()) {
            rows = model_.training->next_gradient(ready, runner_.batch_sign(&activity_));
            if (rows > 0 || !open_next_shard()) return;
        }
    });
    if (rows > 0) return rows;
    ++activity_.batches;
    if (activity_.leave) throw JobEnded{};
    guarded([&] { model_.training->zero_gradient(); });
    return 0;
}

TrainingPass& SharedLap::training() { return *model_.training; }

StateLayout const& SharedLap::layout() const { return model_.state->layout(); }

std::span<float> SharedLap::gradient() { return model_.training->gradient(); }

std::optional<DeviceFloats> SharedLap::device_gradient() { return model_.training->device_gradient(); }

std::optional<DeviceFloats> SharedLap::device_state() { return model_.state->device_state(); }

void SharedLap::update(std::int64_t rows) {
    guarded([&] { model_.training->update(rows); });
}

void SharedLap::count(std::int64_t rows) {
    guarded([&] { model_.training->count(rows); });
}

void SharedLap::fetch() {
    before_waits_();
    guarded([&] { model_.state->fetch(); });
}

void SharedLap::store() {
    guarded([&] { model_.state->store(); });
}

void SharedLap::finish() {
    guarded([&] {
        if (open_) close_pass();
        if (outcome_ == Outcome::finished && !model_.state->finite()) {
            outcome_ = Outcome::diverged;
            reason_ = fmt::format("epoch {}: the state is not finite (a smaller learning rate may help)", part_.lap.epoch);
        }
    });
}

}  // namespace hopscotch
