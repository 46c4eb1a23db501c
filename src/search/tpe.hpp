// SPDX-License-Identifier: Apache-2.0
// Which results the tree-structured Parzen estimator (Bergstra et al., NIPS 2011) goes by.
#pragma once
#include <cstddef>
#include <vector>

#include "search/history.hpp"

namespace hopscotch {

// How many results count as good: ceil(n / 10), at most 25 (Optuna's rule).
std::size_t good_results(std::size_t results);

// last: the last loss of trials that have ended. deepest: the losses after the largest number of epochs for which there are
// enough (BOHB's rule), whoever goes on or not.
enum class Fidelity { last, deepest };

// Indices of trials, in their order. Failed trials are never good; pending ones count as bad (constant liar), so that trials at
// the same time do not all try the same. Both empty: fewer than startup results.
struct Split {
    std::vector<std::size_t> good, bad;
};
Split split_results(History const& history, Fidelity fidelity, std::size_t startup);

}  // namespace hopscotch
