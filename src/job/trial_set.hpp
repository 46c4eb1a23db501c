// SPDX-License-Identifier: Apache-2.0
// A set of trials that is asked about every trial at every lap: by number, so that an answer costs no search.
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
