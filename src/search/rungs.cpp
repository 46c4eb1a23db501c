// SPDX-License-Identifier: Apache-2.0
#include "search/rungs.hpp"

#include <algorithm>

namespace hopscotch {
namespace {

std::int64_t power(std::int64_t base, int exponent) {
    std::int64_t out = 1;
    for (int i = 0; i < exponent; ++i) out *= base;
    return out;
}

}  // namespace

int most_halvings(Halving const& halving) {
    int s = 0;
    for (std::int64_t epochs = halving.min_epochs; (epochs *= halving.eta) <= halving.max_epochs;) ++s;
    return s;
}

std::int64_t lone_survivor_trials(Halving const& halving) { return power(halving.eta, most_halvings(halving)); }

std::vector<Rung> bracket_of(std::int64_t trials, int halvings, Halving const& halving) {
    std::vector<Rung> out;
    for (int i = 0; i <= halvings; ++i)
        out.push_back({std::max<std::int64_t>(trials / power(halving.eta, i), 1),
                       static_cast<int>(halving.max_epochs / power(halving.eta, halvings - i))});
    return out;
}

std::vector<Rung> halving_bracket(std::int64_t trials, Halving const& halving) {
    auto rungs = bracket_of(trials, most_halvings(halving), halving);
    // A trial that is left alone needs no further rungs.
    while (rungs.size() > 2 && rungs[rungs.size() - 2].trials == 1) rungs.erase(rungs.end() - 2);
    return rungs;
}

std::vector<std::vector<Rung>> hyperband_table(Halving const& halving) {
    int const most = most_halvings(halving);
    std::vector<std::vector<Rung>> out;
    for (int s = most; s >= 0; --s) {
        std::int64_t const all = (most + 1) * power(halving.eta, s);
        out.push_back(bracket_of((all + s) / (s + 1), s, halving));
    }
    return out;
}

std::vector<int> asha_rungs(Halving const& halving) {
    std::vector<int> out;
    for (std::int64_t epochs = halving.min_epochs; epochs < halving.max_epochs; epochs *= halving.eta)
        out.push_back(static_cast<int>(epochs));
    out.push_back(halving.max_epochs);
    return out;
}

std::int64_t epochs_of(std::vector<Rung> const& rungs) {
    std::int64_t out = 0;
    int before = 0;
    for (auto const& rung : rungs) {
        out += rung.trials * (rung.epochs - before);
        before = rung.epochs;
    }
    return out;
}

}  // namespace hopscotch
