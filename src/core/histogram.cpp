// SPDX-License-Identifier: Apache-2.0
#include "core/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hopscotch {
namespace {

constexpr double k_first_s = 1e-6, k_last_s = 1e6;
double const k_log_step = std::log(1.01);

std::size_t bucket_of(double seconds) {
    auto const within = std::clamp(seconds, k_first_s, k_last_s);  // clocks of two hosts may differ: below zero is possible
    return static_cast<std::size_t>(std::log(within / k_first_s) / k_log_step);
}

double middle_of(std::size_t bucket) { return k_first_s * std::exp((static_cast<double>(bucket) + 0.5) * k_log_step); }

}  // namespace

void Histogram::add(double seconds) {
    if (!std::isfinite(seconds)) return;
    least_s = empty() ? seconds : std::min(least_s, seconds);
    most_s = empty() ? seconds : std::max(most_s, seconds);
    auto const bucket = bucket_of(seconds);
    if (bucket >= counts.size()) counts.resize(bucket + 1);
    ++counts[bucket];
}

void Histogram::add(Histogram const& other) {
    if (other.empty()) return;
    least_s = empty() ? other.least_s : std::min(least_s, other.least_s);
    most_s = empty() ? other.most_s : std::max(most_s, other.most_s);
    counts.resize(std::max(counts.size(), other.counts.size()));
    for (std::size_t i = 0; i < other.counts.size(); ++i) counts[i] += other.counts[i];
}

std::uint64_t Histogram::count() const { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }

double Histogram::at(double share) const {
    auto const rank = static_cast<std::uint64_t>(std::max(1.0, std::ceil(share * static_cast<double>(count()))));
    if (rank == 1) return least_s;
    if (rank == count()) return most_s;
    std::uint64_t before = 0;
    for (std::size_t bucket = 0; bucket < counts.size(); ++bucket) {
        before += counts[bucket];
        if (before >= rank) return std::clamp(middle_of(bucket), least_s, most_s);
    }
    return most_s;
}

}  // namespace hopscotch
