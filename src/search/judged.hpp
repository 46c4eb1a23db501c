// SPDX-License-Identifier: Apache-2.0
// The results that a sampler learns from.
#pragma once
#include <cstddef>
#include <vector>

#include "search/front.hpp"
#include "search/history.hpp"

namespace hopscotch {

struct Experiment;

// last: the last result of each ended trial. deepest: the results after the largest number of epochs with enough results
// (BOHB's rule).
enum class Fidelity { last, deepest };

struct Judging {
    Fidelity fidelity = Fidelity::last;
    std::size_t startup = 10;  // results that are enough
    std::size_t objectives = 1;
};

// A rule ends trials early, so their last results do not compare.
Judging judging_of(Experiment const& experiment, std::size_t startup);

// Indices of History::results(), in their order.
struct Judged {
    std::vector<std::size_t> results;
    std::vector<Point> points;        // of these results
    std::vector<std::size_t> others;  // pending, or left behind
    std::size_t left_behind = 0;      // stopped or paused before the epoch at which trials are compared

    bool are_enough(Judging const& judging) const { return results.size() >= judging.startup; }
};
Judged judge(History const& history, Judging const& judging);

}  // namespace hopscotch
