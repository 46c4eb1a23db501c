// SPDX-License-Identifier: Apache-2.0
// What laps and orders mean for a trial and for the search: one rule for all directors. PURE.
#pragma once
#include <algorithm>
#include <cmath>
#include <optional>

#include "schedule/director.hpp"

namespace hopscotch {

// Lower is better; none: the worst there is.
inline std::optional<double> search_loss(double metric, Mode mode) {
    if (!std::isfinite(metric)) return std::nullopt;
    return mode == Mode::max ? -metric : metric;
}

// What the search goes by after a lap, given what it went by before it (NaN: this is the first): search.objective. A failure
// stays one.
inline double objective_value(SearchConfig const& search, double before, double value) {
    if (search.objective == Objective::last || !std::isfinite(before) || !std::isfinite(value)) return value;
    return search.mode == Mode::max ? std::max(before, value) : std::min(before, value);
}

// Of a trial whose lap did not finish.
inline TrialStatus status_of(Outcome outcome) {
    if (outcome == Outcome::stopped) return TrialStatus::stopped;
    return outcome == Outcome::diverged ? TrialStatus::diverged : TrialStatus::failed;
}

struct LapsDone {
    int first = 0, end = 0;
};
// After which lap of its source a clone begins that was ordered after `epoch`: that one, or the source's last one if it has
// ended before. None: not yet. The source may come to it; one that has ended without any lap may be taken up.
inline std::optional<int> clone_start(int epoch, LapsDone source, bool goes_on) {
    if (epoch >= source.end && (goes_on || source.end == source.first)) return std::nullopt;
    return std::min(epoch, source.end - 1);
}

// Of a clone that an order starts: it goes on where its source was after order.epoch. unit_cost is the caller's.
inline TrialView view_of_clone(TrialId id, Order const& order, int epochs) {
    TrialView out;
    out.id = id;
    out.assignment = order.assignment;
    out.status = TrialStatus::running;
    out.epochs_wanted = epochs;
    out.first_epoch = out.epochs_done = out.epochs_released = order.epoch + 1;
    return out;
}

}  // namespace hopscotch
