// SPDX-License-Identifier: Apache-2.0
// The tree-structured Parzen estimator (Bergstra et al., NIPS 2011), with the rules and defaults of Optuna 5. With NumPy's
// stream the configurations are Optuna's.
#pragma once
#include <cstddef>
#include <vector>

#include "search/draw.hpp"
#include "search/history.hpp"

namespace hopscotch {

// Number of good results: ceil(n / 10), at most 25 (Optuna's rule).
std::size_t good_results(std::size_t results);

// last: the last loss of each ended trial. deepest: the losses after the largest number of epochs with enough losses (BOHB's
// rule). A trial that the rule stopped or paused before that epoch is bad (unlike BOHB; docs/decisions/0025).
enum class Fidelity { last, deepest };

// Indices of History::results(), in their order. Failed trials are never good. Pending trials count as bad (constant liar),
// so that trials at the same time differ. Both empty: fewer than `startup` results.
struct GoodAndBad {
    std::vector<std::size_t> good, bad;
};
GoodAndBad split_results(History const& history, Fidelity fidelity, std::size_t startup);

// The estimator. It draws candidates near the good trials, and takes the one with the best ratio of good to bad density.
class TpeModel {
public:
    TpeModel(Space const& space, TpeConfig const& config);  // space: must outlive it

    // The result may be forbidden, or a configuration that was proposed before.
    Assignment propose(History const& history, GoodAndBad const& split, Uniform const& uniform) const;

private:
    using Keys = std::vector<Parameter const*>;
    void choose(History const& history, GoodAndBad const& split, Keys const& keys, Uniform const& uniform,
                Assignment& out) const;

    Space const& space_;
    int candidates_;
    Keys joint_, single_;  // keys with one density together, and with one each
};

}  // namespace hopscotch
