// SPDX-License-Identifier: Apache-2.0
// What a lap's outcome means for its trial and for the search: one rule for all directors. PURE.
#pragma once
#include <cmath>
#include <optional>

#include "schedule/director.hpp"

namespace hopscotch {

// Lower is better; none: the worst there is.
inline std::optional<double> search_loss(double metric, Mode mode) {
    if (!std::isfinite(metric)) return std::nullopt;
    return mode == Mode::max ? -metric : metric;
}

// Of a trial whose lap did not finish.
inline TrialStatus status_of(Outcome outcome) {
    if (outcome == Outcome::stopped) return TrialStatus::stopped;
    return outcome == Outcome::diverged ? TrialStatus::diverged : TrialStatus::failed;
}

}  // namespace hopscotch
