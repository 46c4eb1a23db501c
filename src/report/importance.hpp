// SPDX-License-Identifier: Apache-2.0
// The importance of each searched key for being among the best: PED-ANOVA (Watanabe et al., arXiv 2304.10255) in the form
// for conditional keys (arXiv 2601.20800), which Optuna has, too. PURE. It compares the places of the best tenth of the
// trials with the places of all: a key whose best values crowd together matters.
#pragma once
#include <vector>

#include "report/key_columns.hpp"

namespace hopscotch {

inline constexpr std::size_t k_trials_for_importance = 50;  // fewer than five trials in the best tenth prove nothing

// rank: of each group, 0 is best, equal groups have equal ranks; -1: it does not count. In the order of `keys`, sums to 1.
// If no key tells the best from the others, all are equal. Empty if fewer than two groups count.
std::vector<double> importance_of(std::vector<KeyColumn> const& keys, std::vector<int> const& rank);

}  // namespace hopscotch
