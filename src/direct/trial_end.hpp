// SPDX-License-Identifier: Apache-2.0
// The meaning of a lap's result for the trial and for the search: one rule for all directors. PURE.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>

#include "direct/trial_view.hpp"

namespace hopscotch {

// The loss that the search hears: lower is better. None: worse than any loss.
inline std::optional<double> search_loss(double metric, Mode mode) {
    if (!std::isfinite(metric)) return std::nullopt;
    return mode == Mode::max ? -metric : metric;
}

// search.objective: the value of a trial after a lap. before: the value after the lap before; NaN: this lap is the first. A
// value that is not finite stays as it is.
inline double objective_value(SearchConfig const& search, double before, double value) {
    if (search.objective == Objective::last || !std::isfinite(before) || !std::isfinite(value)) return value;
    return search.mode == Mode::max ? std::max(before, value) : std::min(before, value);
}

// The status of a trial whose lap did not finish.
inline TrialStatus status_of(Outcome outcome) {
    if (outcome == Outcome::stopped) return TrialStatus::stopped;
    return outcome == Outcome::diverged ? TrialStatus::diverged : TrialStatus::failed;
}

}  // namespace hopscotch
