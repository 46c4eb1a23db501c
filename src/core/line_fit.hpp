// SPDX-License-Identifier: Apache-2.0
// A straight line through weighted points: least squares.
#pragma once
#include <optional>

namespace hopscotch {

class LineFit {
public:
    void add(double x, double y, double weight) {
        n_ += weight;
        x_ += weight * x;
        y_ += weight * y;
        xx_ += weight * x * x;
        xy_ += weight * x * y;
    }

    double mean_x() const { return x_ / n_; }
    double mean_y() const { return y_ / n_; }
    // Nothing: all points have the same x, within rounding.
    std::optional<double> slope() const {
        double const spread = n_ * xx_ - x_ * x_;
        if (spread <= 1e-9 * n_ * xx_) return std::nullopt;
        return (n_ * xy_ - x_ * y_) / spread;
    }

private:
    double n_ = 0, x_ = 0, y_ = 0, xx_ = 0, xy_ = 0;
};

}  // namespace hopscotch
