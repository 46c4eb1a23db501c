// SPDX-License-Identifier: Apache-2.0
#include "data/dataset/feature_stats.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_carry_rows = 65536;  // 65536 * 255 * 255 < 2^32

double stddev_of(double variance) { return variance > 0 ? std::sqrt(variance) : 1.0; }

}  // namespace

FeatureStats::FeatureStats(std::size_t features, FeatureType type) : type_(type) {
    if (type == FeatureType::float32)
        for (auto* list : {&count_, &mean_, &squares_}) list->resize(features);
    if (type == FeatureType::uint8) {
        for (auto* list : {&sum_now_, &squares_now_}) list->resize(features);
        for (auto* list : {&sum_, &sum_of_squares_}) list->resize(features);
    }
}

void FeatureStats::add(std::span<float const> row) {
    require(row.size() == mean_.size(), "a row has as many numbers as there are features");
    ++rows_;
    auto* const count = count_.data();
    auto* const mean = mean_.data();
    auto* const squares = squares_.data();
    for (std::size_t i = 0; i < row.size(); ++i) {  // without branches, so that it is vectorised
        double const value = row[i], difference = value - mean[i];
        auto const missing = std::isnan(value);
        double const deviation = missing ? 0.0 : difference;
        count[i] += missing ? 0.0 : 1.0;
        auto const step = deviation / std::max(count[i], 1.0);
        mean[i] += step;
        squares[i] += deviation * (deviation - step);
    }
}

void FeatureStats::add(std::span<std::uint8_t const> row) {
    require(row.size() == sum_.size(), "a row has as many bytes as there are features");
    auto* const sum = sum_now_.data();
    auto* const squares = squares_now_.data();
    for (std::size_t i = 0; i < row.size(); ++i) {
        std::uint32_t const value = row[i];
        sum[i] += value;
        squares[i] += value * value;
    }
    if (++rows_ % k_carry_rows == 0) carry();
}

void FeatureStats::carry() {
    for (std::size_t i = 0; i < sum_.size(); ++i) {
        sum_[i] += sum_now_[i];
        sum_of_squares_[i] += squares_now_[i];
        sum_now_[i] = squares_now_[i] = 0;
    }
}

Moments FeatureStats::byte_moments(std::size_t run) const {
    Moments out;
    for (std::size_t first = 0; first < sum_.size(); first += run) {
        std::uint64_t sum = 0, squares = 0;
        for (std::size_t i = first; i < first + run; ++i) {
            sum += sum_[i] + sum_now_[i];
            squares += sum_of_squares_[i] + squares_now_[i];
        }
        auto const count = static_cast<long double>(std::max<std::int64_t>(rows_, 1)) * static_cast<long double>(run);
        auto const mean = static_cast<long double>(sum) / count;
        auto const variance = static_cast<long double>(squares) / count - mean * mean;  // of a constant exactly 0
        out.mean.push_back(static_cast<double>(mean));
        out.stddev.push_back(stddev_of(static_cast<double>(variance)));
    }
    return out;
}

Moments FeatureStats::moments(std::size_t run) const {
    if (type_ == FeatureType::uint8) return byte_moments(run);
    Moments out;
    for (std::size_t first = 0; first < mean_.size(); first += run) {
        double mean = 0, squares = 0;
        for (std::size_t i = first; i < first + run; ++i) mean += mean_[i] / static_cast<double>(run);
        for (std::size_t i = first; i < first + run; ++i)  // within the feature, and of the feature within its group
            squares += squares_[i] + static_cast<double>(rows_) * (mean_[i] - mean) * (mean_[i] - mean);
        out.mean.push_back(mean);
        out.stddev.push_back(stddev_of(rows_ > 0 ? squares / static_cast<double>(rows_) / static_cast<double>(run) : 0));
    }
    return out;
}

void RunningMoments::add(double value) {
    count_ += 1;
    auto const from_old_mean = value - mean_;
    mean_ += from_old_mean / count_;
    squares_ += from_old_mean * (value - mean_);
}

double RunningMoments::stddev() const { return stddev_of(count_ > 0 ? squares_ / count_ : 0); }

Moments recorded_moments(Manifest const& manifest, FeatureStats const& stats) {
    auto const run = manifest.shape.size() == 3 ? static_cast<std::size_t>(manifest.shape[1] * manifest.shape[2]) : 1;
    auto out = stats.moments(run);
    auto const& categories = manifest.categories;
    for (std::size_t i = 0; i < out.mean.size() && !categories.empty(); ++i) {
        auto const first = categories.begin() + static_cast<std::ptrdiff_t>(categories.size() == 1 ? 0 : i * run);
        auto const last = first + static_cast<std::ptrdiff_t>(categories.size() == 1 ? 1 : run);
        if (std::all_of(first, last, [](auto n) { return n == 0; })) continue;
        out.mean[i] = 0;
        out.stddev[i] = 1;
    }
    return out;
}

}  // namespace hopscotch
