// SPDX-License-Identifier: Apache-2.0
// How often each duration came, in fixed memory: buckets of 1 % from a microsecond to twelve days.
#pragma once
#include <cstdint>
#include <vector>

namespace hopscotch {

struct Histogram {
    std::vector<std::uint64_t> counts;  // by bucket; up to the last one that is not empty
    double least_s = 0, most_s = 0;

    void add(double seconds);
    void add(Histogram const& other);
    std::uint64_t count() const;
    bool empty() const { return counts.empty(); }
    // The value at rank ceil(share * count), within 1 %, and exact at both ends. There must be values.
    double at(double share) const;
};

}  // namespace hopscotch
