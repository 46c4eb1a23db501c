// SPDX-License-Identifier: Apache-2.0
// The arithmetic of successive halving: how many trials train for how many epochs. It uses integers: in floating point
// log(243) / log(3) is less than 5, and a bracket would be lost.
#pragma once
#include <cstdint>
#include <vector>

namespace hopscotch {

struct Rung {
    std::int64_t trials = 0;
    int epochs = 0;  // in all
    bool operator==(Rung const&) const = default;
};

struct Halving {
    int eta = 3, min_epochs = 1, max_epochs = 1;
};

// The largest s with min_epochs * eta^s <= max_epochs.
int most_halvings(Halving const& halving);

// eta^s with that s: of this many trials one is left for the last rung.
std::int64_t lone_survivor_trials(Halving const& halving);

// One bracket: n trials, then floor(n / eta^i), at least 1; epochs floor(max / eta^(s - i)), the last max_epochs.
std::vector<Rung> bracket_of(std::int64_t trials, int halvings, Halving const& halving);

// The bracket of successive halving: all possible halvings, but none of a single trial.
std::vector<Rung> halving_bracket(std::int64_t trials, Halving const& halving);

// The brackets of one iteration of Hyperband, most exploring first: n = ceil((smax + 1) * eta^s / (s + 1)) as in the paper
// (Li et al., JMLR 18, 2018).
std::vector<std::vector<Rung>> hyperband_table(Halving const& halving);

// Decision points of ASHA: min_epochs * eta^k below max_epochs, then max_epochs (Li et al., MLSys 2020).
std::vector<int> asha_rungs(Halving const& halving);

// Epochs trained in a bracket if no trial starts again from its first epoch.
std::int64_t epochs_of(std::vector<Rung> const& rungs);

}  // namespace hopscotch
