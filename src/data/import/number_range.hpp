// SPDX-License-Identifier: Apache-2.0
// Numbers of a source, which float32 may not hold: the offset that keeps them apart, and a watch for numbers that become
// equal.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <unordered_set>

namespace hopscotch {

__extension__ using WideInteger = __int128;  // differences of 64-bit integers

// Of all values of a column that are not missing.
struct NumberRange {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    bool integers = true;  // every one, so far

    // Inline, and without std::floor, which is a call: there may be billions of cells.
    void see(double value) {
        low = std::min(low, value);
        high = std::max(high, value);
        integers =
            integers && (!(std::abs(value) < 0x1p53) || static_cast<double>(static_cast<std::int64_t>(value)) == value);
    }
    bool empty() const { return low > high; }
    bool constant() const { return low == high && high - 1 < high; }  // integers beyond 2^53 look equal

    // To be subtracted before the numbers are rounded to float32, an integer; 0: none. Chosen for integers beyond 2^24, and
    // for numbers whose spread is small beside their size, such as seconds since 1970.
    double offset() const;

    // The loss of integers from which this offset is subtracted: "" if float32 holds each of them, else a sentence's end.
    std::string loss(double offset) const;
};

// Counts different numbers that become equal in float32. Keeps a sample of at most 1024 numbers, chosen by the rounded
// value, so that those that become equal are in the sample together.
class RoundingWatch {
public:
    void see(double exact);
    double lost() const { return std::max(lost_before_, lost_now()); }  // of all different numbers, 0..1; about

private:
    double lost_now() const;
    void thin_out();

    std::unordered_set<std::uint64_t> exact_;    // bits
    std::unordered_set<std::uint32_t> rounded_;  // bits
    std::uint32_t mask_ = 0;
    double lost_before_ = 0;  // when the sample was last thinned out
};

}  // namespace hopscotch
