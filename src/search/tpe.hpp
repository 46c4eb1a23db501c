// SPDX-License-Identifier: Apache-2.0
// The tree-structured Parzen estimator (Bergstra et al., NIPS 2011), with the rules and defaults of Optuna 5. With NumPy's
// stream the configurations are Optuna's.
#pragma once
#include <cstddef>
#include <vector>

#include "search/draw.hpp"
#include "search/judged.hpp"
#include "search/parzen.hpp"

namespace hopscotch {

// Number of good results: ceil(n / 10), at most 25 (Optuna's rule). Of several objectives at most 100: Optuna has no limit
// there, but the cost of a proposal must not grow for ever.
std::size_t good_results(std::size_t results, std::size_t objectives = 1);

// Indices of History::results(), in their order. Failed trials are never good. Pending trials count as bad (constant liar),
// so that trials at the same time differ. A trial that the rule stopped or paused before the epoch at which trials are
// compared is bad (unlike BOHB; docs/decisions/0025). Both empty: fewer than `startup` results. Of several objectives: the
// first fronts are good, and of the front that would be too much the part with the largest hypervolume (Ozaki et al., JAIR
// 73, 2022).
struct GoodAndBad {
    std::vector<std::size_t> good, bad;
};
GoodAndBad split_results(History const& history, Judging const& judging);

// The estimator. It draws candidates near the good trials, and takes the one with the best ratio of good to bad density.
class TpeModel {
public:
    TpeModel(Space const& space, TpeConfig const& config, std::size_t objectives = 1);  // space: must outlive it

    // The result may be forbidden, or a configuration that was proposed before.
    Assignment propose(History const& history, GoodAndBad const& split, Uniform const& uniform) const;

private:
    using Keys = std::vector<Parameter const*>;
    void choose(History const& history, GoodAndBad const& split, Keys const& keys, Uniform const& uniform,
                Assignment& out) const;

    Space const& space_;
    int candidates_;
    Parzen::Weights weights_of_good_;
    Keys joint_, single_;  // keys with one density together, and with one each
};

}  // namespace hopscotch
