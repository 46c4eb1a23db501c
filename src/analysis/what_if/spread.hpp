// SPDX-License-Identifier: Apache-2.0
// The mean of values of several orders, and the band in which nine tenths of them lie. Of none: NaN.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

namespace hopscotch {

inline constexpr double k_band = 0.05;  // this share of the orders lies below the band, and above it

// Linear between the sorted values.
inline double quantile(std::vector<double> values, double share) {
    if (values.empty()) return NAN;
    std::ranges::sort(values);
    double const at = share * static_cast<double>(values.size() - 1);
    auto const below = static_cast<std::size_t>(at);
    auto const above = std::min(below + 1, values.size() - 1);
    return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

inline double mean(std::vector<double> const& values) {
    double sum = 0;
    for (double const value : values) sum += value;
    return values.empty() ? NAN : sum / static_cast<double>(values.size());
}

}  // namespace hopscotch
