// SPDX-License-Identifier: Apache-2.0
// Mean and standard deviation of features over a stream of rows, in double, by Welford's update (no cancellation).
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace hopscotch {

struct Moments {
    std::vector<double> mean, stddev;  // population; the stddev of a constant is 1, so that it normalises to 0
};

class FeatureStats {
public:
    explicit FeatureStats(std::size_t features) : count_(features), mean_(features), squares_(features) {}

    void add(std::span<float const> row);  // a NaN is a missing value and does not count

    std::int64_t count(std::size_t feature) const { return count_[feature]; }  // present values
    std::vector<double> const& mean() const { return mean_; }                  // of the present values

    // Of groups of `run` neighbouring features (1: each by itself), with missing values taken to be their feature's mean.
    Moments moments(std::size_t run) const;

private:
    std::int64_t rows_ = 0;
    std::vector<std::int64_t> count_;
    std::vector<double> mean_, squares_;  // squares_: sum of squared deviations from the mean
};

}  // namespace hopscotch
