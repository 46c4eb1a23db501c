// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>

namespace hopscotch {

// Seconds on a clock that never jumps; for durations and deadlines.
inline double monotonic_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds since 1970; comparable between hosts as far as their clocks agree. For time lines only.
inline double unix_s() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

}  // namespace hopscotch
