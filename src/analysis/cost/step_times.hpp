// SPDX-License-Identifier: Apache-2.0
// Seconds of a training step over its rows, from steps that were measured: the one fit that `compare` and `plan` share.
#pragma once
#include <optional>

namespace hopscotch {

struct StepTime {
    double fixed_s = 0, row_s = 0;  // of a step, and of each of its rows

    double of(double rows) const { return fixed_s + row_s * rows; }
};

// A straight line, least squares weighted by the number of steps.
class StepTimes {
public:
    // steps: the number of measured steps, of `rows` rows and `step_s` seconds on average. At least one.
    void add(double rows, double step_s, double steps);

    // Steps of one size cannot tell the fixed part from that of the rows; sizes within 1 % count as one.
    bool several_sizes() const { return most_rows_ > 1.01 * least_rows_; }

    // No part is negative. known_fixed_s: from elsewhere, instead of the fit; with one size only, 0 is assumed.
    StepTime fitted(std::optional<double> known_fixed_s = std::nullopt) const;

private:
    double steps_ = 0, rows_ = 0, seconds_ = 0, rows_rows_ = 0, rows_seconds_ = 0;  // weighted sums
    double least_rows_ = 0, most_rows_ = 0;
};

}  // namespace hopscotch
