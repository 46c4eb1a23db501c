// SPDX-License-Identifier: Apache-2.0
#include "data/feature_stats.hpp"

#include <cmath>

namespace hopscotch {

void FeatureStats::add(std::span<float const> row) {
    ++rows_;
    for (std::size_t i = 0; i < row.size(); ++i) {
        if (std::isnan(row[i])) continue;
        double const deviation = row[i] - mean_[i];
        mean_[i] += deviation / static_cast<double>(++count_[i]);
        squares_[i] += deviation * (row[i] - mean_[i]);
    }
}

Moments FeatureStats::moments(std::size_t run) const {
    Moments out;
    for (std::size_t first = 0; first < mean_.size(); first += run) {
        double mean = 0, squares = 0;
        for (std::size_t i = first; i < first + run; ++i) mean += mean_[i] / static_cast<double>(run);
        for (std::size_t i = first; i < first + run; ++i)  // within the feature, and of the feature within its group
            squares += squares_[i] + static_cast<double>(rows_) * (mean_[i] - mean) * (mean_[i] - mean);
        double const variance = rows_ > 0 ? squares / static_cast<double>(rows_) / static_cast<double>(run) : 0;
        out.mean.push_back(mean);
        out.stddev.push_back(variance > 0 ? std::sqrt(variance) : 1.0);
    }
    return out;
}

}  // namespace hopscotch
