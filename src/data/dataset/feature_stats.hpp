// SPDX-License-Identifier: Apache-2.0
// Mean and standard deviation of features over a stream of rows: numbers by Welford's update in double (no cancellation),
// bytes by exact integer sums.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset/manifest.hpp"

namespace hopscotch {

struct Moments {
    std::vector<double> mean, stddev;  // population; the stddev of a constant is 1, so that it normalises to 0
};

class FeatureStats {
public:
    FeatureStats(std::size_t features, FeatureType type);

    void add(std::span<float const> row);         // float32; a NaN is a missing value and does not count
    void add(std::span<std::uint8_t const> row);  // uint8

    std::vector<double> const& mean() const { return mean_; }  // float32: of the present values

    // Mean and standard deviation of groups of `run` neighbouring features (1: each feature alone). A missing value counts
    // as the mean of its feature.
    Moments moments(std::size_t run) const;

private:
    void carry();
    Moments byte_moments(std::size_t run) const;

    FeatureType type_;
    std::int64_t rows_ = 0;
    std::vector<double> count_, mean_, squares_;        // float32. squares_: sum of squared deviations from the mean
    std::vector<std::uint32_t> sum_now_, squares_now_;  // uint8: of the rows since the last carry
    std::vector<std::uint64_t> sum_, sum_of_squares_;   // uint8: of the rows before
};

// Of one stream of numbers, by Welford's update.
class RunningMoments {
public:
    void add(double value);
    double mean() const { return mean_; }
    double stddev() const;  // population; of a constant: 1

private:
    double count_ = 0, mean_ = 0, squares_ = 0;
};

// The values that the manifest records: per channel for a shape of rank 3, else per feature. Categories get mean 0 and
// stddev 1, so that normalising does not change them.
Moments recorded_moments(Manifest const& manifest, FeatureStats const& stats);

}  // namespace hopscotch
