// SPDX-License-Identifier: Apache-2.0
// A set of trials, indexed by number: it is asked about every trial at every lap, so an answer must not need a search.
#pragma once
#include <cstddef>
#include <vector>

#include "core/ids.hpp"

namespace hopscotch {

class TrialSet {
public:
    bool contains(TrialId trial) const { return trial.index() < in_.size() && in_[trial.index()] != 0; }
    bool insert(TrialId trial) {  // false: was in it before
        if (contains(trial)) return false;
        if (trial.index() >= in_.size()) in_.resize(trial.index() + 1);
        in_[trial.index()] = 1;
        ++size_;
        return true;
    }
    std::size_t size() const { return size_; }

private:
    std::vector<char> in_;  // by trial
    std::size_t size_ = 0;
};

}  // namespace hopscotch
