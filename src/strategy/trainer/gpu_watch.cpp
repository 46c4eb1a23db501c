// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/gpu_watch.hpp"

#include <algorithm>
#include <chrono>

#include "core/clock.hpp"

namespace hopscotch {

GpuWatch::GpuWatch(std::unique_ptr<GpuMeter> meter, double apart_s) : meter_(std::move(meter)), apart_s_(apart_s) {
    if (meter_) thread_ = std::jthread([this](std::stop_token const& stop) { watch(stop); });
}

GpuWatch::~GpuWatch() = default;

void GpuWatch::watch(std::stop_token const& stop) {
    auto pause_s = apart_s_;
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, stop, std::chrono::duration<double>(pause_s), [&] { return stop.stop_requested(); })) {
        lock.unlock();
        auto const begun_s = monotonic_s();
        auto const sample = meter_->read(unix_s());
        pause_s = std::max(apart_s_, (monotonic_s() - begun_s) / k_most_load);
        lock.lock();
        if (!sample) continue;
        sums_.busy_s += sample->busy_s;
        sums_.of_s += sample->of_s;
    }
}

GpuMeter::Sample GpuWatch::now() const {
    if (!meter_) return {};
    std::lock_guard const lock(mutex_);
    return sums_;
}

double GpuWatch::share_since(GpuMeter::Sample const& then) const {
    auto const sums = now();
    return sums.of_s > then.of_s ? (sums.busy_s - then.busy_s) / (sums.of_s - then.of_s) : -1;
}

}  // namespace hopscotch
