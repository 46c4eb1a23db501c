// SPDX-License-Identifier: Apache-2.0
#include "analysis/results/run_clock.hpp"

#include <algorithm>
#include <cmath>

namespace hopscotch {

RunClock::RunClock(double start_unix_s, std::vector<std::pair<double, double>> pauses)
    : start_unix_s_(start_unix_s), pauses_(std::move(pauses)) {
    std::erase_if(pauses_, [&](auto const& each) { return !(each.second > each.first) || each.first < start_unix_s_; });
    std::ranges::sort(pauses_);
    double before = 0;
    for (auto const& [from, until] : pauses_) {
        paused_s_.push_back(before);
        before += until - from;
    }
}

double RunClock::at(double unix_s) const {
    if (!std::isfinite(unix_s)) return 0;
    auto const next = std::ranges::upper_bound(pauses_, unix_s, {}, [](auto const& each) { return each.first; });
    double out = unix_s - start_unix_s_;
    if (next != pauses_.begin()) {
        auto const last = static_cast<std::size_t>(next - pauses_.begin()) - 1;
        out -= paused_s_[last] + std::min(unix_s, pauses_[last].second) - pauses_[last].first;
    }
    return std::max(0.0, out);
}

}  // namespace hopscotch
