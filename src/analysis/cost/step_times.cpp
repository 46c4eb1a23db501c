// SPDX-License-Identifier: Apache-2.0
#include "analysis/cost/step_times.hpp"

#include <algorithm>

namespace hopscotch {

void StepTimes::add(double rows, double step_s, double steps) {
    least_rows_ = steps_ == 0 ? rows : std::min(least_rows_, rows);
    most_rows_ = std::max(most_rows_, rows);
    steps_ += steps;
    rows_ += steps * rows;
    seconds_ += steps * step_s;
    rows_rows_ += steps * rows * rows;
    rows_seconds_ += steps * rows * step_s;
}

StepTime StepTimes::fitted(std::optional<double> known_fixed_s) const {
    double const rows = rows_ / steps_, step_s = seconds_ / steps_;
    if (several_sizes() && !known_fixed_s) {
        double const slope = (steps_ * rows_seconds_ - rows_ * seconds_) / (steps_ * rows_rows_ - rows_ * rows_);
        double const row_s = std::clamp(slope, 0.0, step_s / rows);
        return {step_s - row_s * rows, row_s};
    }
    double const fixed_s = std::min(known_fixed_s.value_or(0), step_s);
    return {fixed_s, (step_s - fixed_s) / rows};
}

}  // namespace hopscotch
