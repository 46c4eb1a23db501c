// SPDX-License-Identifier: Apache-2.0
// The default suite tries each kind of case; scripts/test.sh --long tries all of them.
#pragma once
#include <cstdlib>
#include <vector>

namespace hopscotch::testing {

inline bool long_suite() {
    static bool const wanted = std::getenv("HOPSCOTCH_LONG") != nullptr;
    return wanted;
}

// Numbers of trainers that are threads: the fewest and the most, or all between them too.
inline std::vector<int> trainer_counts(int fewest = 1, int most = 4) {
    if (!long_suite()) return {fewest, most};
    std::vector<int> out;
    for (int trainers = fewest; trainers <= most; ++trainers) out.push_back(trainers);
    return out;
}

}  // namespace hopscotch::testing
