// SPDX-License-Identifier: Apache-2.0
// Time that a test moves: by hand, or a step at each reading. With steps a wait sees its limit after a number of looks,
// however long the looks take. So only a wait that nothing can end should stand on a clock that steps.
#pragma once
#include <atomic>
#include <functional>
#include <thread>

namespace hopscotch::testing {

class TestClock {
public:
    explicit TestClock(double step_s = 0) : step_s_(step_s) {}

    // The clock outlives its readers.
    std::function<double()> reader() {
        return [this] { return ++readings_, now_s_.fetch_add(step_s_); };
    }
    void advance(double seconds) { now_s_ += seconds; }
    void step_at_each_reading(double seconds) { step_s_ = seconds; }

    // Returns when a thread that reads this clock has read it that many times more.
    void await_readings(long readings) const {
        for (auto const until = readings_ + readings; readings_ < until;) std::this_thread::yield();
    }

private:
    std::atomic<double> now_s_ = 1000, step_s_;
    std::atomic<long> readings_ = 0;
};

}  // namespace hopscotch::testing
