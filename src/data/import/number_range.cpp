// SPDX-License-Identifier: Apache-2.0
#include "data/import/number_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace hopscotch {
namespace {

constexpr double k_exact = 0x1p24;         // float32 holds every integer up to here
constexpr double k_small_spread = 0x1p-8;  // of fractions, beside their size: 16 of 24 bits are left
constexpr std::size_t k_most_sampled = 1024;

// Whether this rounded value is in the sample.
bool sampled(std::uint32_t bits, std::uint32_t mask) {
    constexpr std::uint32_t k_odd = 0x9e3779b1;  // spreads the low bits over the word
    return ((bits * k_odd) >> 8 & mask) == 0;
}

std::uint32_t rounded_bits(double exact) { return std::bit_cast<std::uint32_t>(static_cast<float>(exact)); }

}  // namespace

double NumberRange::offset() const {
    if (empty() || !std::isfinite(low) || !std::isfinite(high)) return 0;
    auto const largest = std::max(std::abs(low), std::abs(high));
    auto const spread = high - low;
    if (integers) return largest > k_exact && (spread <= k_exact || spread <= largest / 2) ? low : 0;
    return spread < largest * k_small_spread ? std::floor(low) : 0;
}

std::string NumberRange::loss(double offset) const {
    if (empty() || !integers) return "";
    auto const largest = std::max(std::abs(low - offset), std::abs(high - offset));
    if (largest <= k_exact) return "";
    return fmt::format("integers that differ by less than {:.0f} can become equal (float32 has 24 bits)",
                       std::ldexp(1.0, std::ilogb(largest) - 23));
}

void RoundingWatch::see(double exact) {
    auto const bits = rounded_bits(exact);
    if (!hopscotch::sampled(bits, mask_)) return;
    exact_.insert(std::bit_cast<std::uint64_t>(exact));
    rounded_.insert(bits);
    if (exact_.size() > k_most_sampled) thin_out();
}

double RoundingWatch::lost_now() const {
    return exact_.empty() ? 0 : static_cast<double>(exact_.size() - rounded_.size()) / static_cast<double>(exact_.size());
}

void RoundingWatch::thin_out() {
    lost_before_ = lost();
    mask_ = mask_ * 2 + 1;
    std::erase_if(exact_, [&](auto bits) { return !hopscotch::sampled(rounded_bits(std::bit_cast<double>(bits)), mask_); });
    std::erase_if(rounded_, [&](auto bits) { return !hopscotch::sampled(bits, mask_); });
}

}  // namespace hopscotch
