// SPDX-License-Identifier: Apache-2.0
#include "direct/pins.hpp"

namespace hopscotch {

void Pins::reported(LapId lap) {
    if (lap.epoch == 0) return;
    --lap.epoch;
    if (clones_.contains(lap))
        behind_.insert(lap);
    else
        free_.push_back(lap);
}

void Pins::release(LapId state) {
    if (--clones_.at(state) > 0) return;
    clones_.erase(state);
    if (behind_.erase(state) > 0) free_.push_back(state);
}

}  // namespace hopscotch
