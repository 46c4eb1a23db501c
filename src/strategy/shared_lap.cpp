// SPDX-License-Identifier: Apache-2.0
#include "strategy/shared_lap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/clock.hpp"
#include "core/error.hpp"

namespace hopscotch {

SharedLap::SharedLap(TrialRunner& runner, Part part, Activity& activity)
    : runner_(runner), part_(std::move(part)), activity_(activity), model_(runner.model(part_.lap)) {
    model_.bind(part_.state);
}

template <class Work>
void SharedLap::guarded(Work work) {
    if (outcome_ == Outcome::failed) return;
    auto const start = monotonic_s();
    try {
        work();
    } catch (CommError const&) {
        throw;  // a lost rank is no bad trial
    } catch (std::exception const& error) {
        outcome_ = Outcome::failed;
        reason_ = fmt::format("unit on shard {} of epoch {} on trainer {} ({}): {}",
                              units_.empty() ? -1 : units_.back().shard.value, part_.lap.epoch, runner_.self().value, host_name(),
                              error.what());
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
    activity_.shard = shard.value;
    model_.begin_pass(runner_.shard(shard), runner_.address_of(part_.lap, shard), part_.batch_size);
    open_ = true;
    return true;
}

void SharedLap::close_pass() {
    auto const sums = model_.end_pass();
    units_.back().rows = sums.rows;
    units_.back().loss_sum = sums.loss;
    open_ = false;
    ++activity_.units;
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
            rows = model_.next_gradient(ready, runner_.batch_sign(&activity_));
            if (rows > 0 || !open_next_shard()) return;
        }
    });
    if (rows > 0) return rows;
    ++activity_.batches;
    if (activity_.leave) throw JobEnded{};
    if (outcome_ != Outcome::failed) std::ranges::fill(model_.gradient(), 0.0F);
    return 0;
}

void SharedLap::update(std::int64_t rows) {
    guarded([&] { model_.update(rows); });
}

void SharedLap::count(std::int64_t rows) {
    guarded([&] { model_.count(rows); });
}

void SharedLap::fetch() {
    guarded([&] { model_.fetch(); });
}

void SharedLap::store() {
    guarded([&] { model_.store(); });
}

void SharedLap::finish() {
    guarded([&] {
        if (open_) close_pass();
        if (outcome_ == Outcome::finished && !model_.finite()) {
            outcome_ = Outcome::diverged;
            reason_ = fmt::format("epoch {}: the state is not finite (a smaller learning rate may help)", part_.lap.epoch);
        }
    });
}

}  // namespace hopscotch
