// SPDX-License-Identifier: Apache-2.0
// The median of several repeats of a benchmark.
#pragma once
#include <algorithm>
#include <vector>

#include "core/error.hpp"

namespace hopscotch {

// Of an even number of values, the larger of the two in the middle.
inline double median(std::vector<double> values) {
    require(!values.empty(), "a median of no values");
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

}  // namespace hopscotch
