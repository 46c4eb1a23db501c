// SPDX-License-Identifier: Apache-2.0
// The CPU seconds of a trainer's thread in a unit. A reading is a system call of 0.3 us, so of units that are shorter than a
// millisecond the watch measures some: at most one begins in a millisecond. Helper threads of LibTorch do not count.
#pragma once
#include <ctime>
#include <optional>
#include <string>

#include "core/clock.hpp"

namespace hopscotch {

class CpuWatch {
public:
    static constexpr double k_apart_s = 0.001;

    // On a GPU the thread's CPU seconds do not show the work: none are measured.
    explicit CpuWatch(std::string const& device) : next_s_(device == "cpu" ? 0 : k_never) {}

    // The thread's CPU seconds now; none: this unit is not measured.
    std::optional<double> begin(double now_s = monotonic_s()) {
        if (now_s < next_s_) return std::nullopt;
        next_s_ = now_s + k_apart_s;
        return thread_cpu_s();
    }

    // Since begin(), on the same thread; -1: not measured.
    static double since(std::optional<double> begun) { return begun ? thread_cpu_s() - *begun : -1; }

private:
    static constexpr double k_never = 1e300;

    static double thread_cpu_s() {
        timespec now{};
        if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) return 0;
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    }

    double next_s_;
};

}  // namespace hopscotch
