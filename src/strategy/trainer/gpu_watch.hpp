// SPDX-License-Identifier: Apache-2.0
// The GPU's use while a trainer trains. A thread reads the meter every 0.2 s: units lose no time, and every part of a unit
// has the same weight. A unit takes the samples that come between its begin and its end. A sample is about the last 1/6 to 1
// s: the use of shorter units is mixed with that of the units before.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>

#include "model/gpu/gpu_meter.hpp"

namespace hopscotch {

class GpuWatch {
public:
    static constexpr double k_apart_s = 0.2;      // between readings, at least
    static constexpr double k_most_load = 0.005;  // of a core

    // meter: null: nothing is measured, and there is no thread.
    explicit GpuWatch(std::unique_ptr<GpuMeter> meter, double apart_s = k_apart_s);
    ~GpuWatch();

    GpuMeter::Sample now() const;  // sums of all samples so far

    // Share of the time since then in which the GPU was busy; -1: no sample has come since.
    double share_since(GpuMeter::Sample const& then) const;

private:
    void watch(std::stop_token const& stop);

    std::unique_ptr<GpuMeter> meter_;
    double apart_s_;
    mutable std::mutex mutex_;
    std::condition_variable_any wake_;
    GpuMeter::Sample sums_;
    std::jthread thread_;  // the last member: it uses the others
};

}  // namespace hopscotch
