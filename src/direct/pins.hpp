// SPDX-License-Identifier: Apache-2.0
// The states at the ends of laps that clones may still need. PURE. The search can ask for a state from the report of its lap
// to the report of the trial's next lap. A state is held for each of its clones until that clone has trained a lap.
#pragma once
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "schedule/lap.hpp"

namespace hopscotch {

class Pins {
public:
    void reported(LapId lap);  // the search cannot ask for the state before this lap any more
    void hold(LapId state) { ++clones_[state]; }
    void release(LapId state);
    std::vector<LapId> take() { return std::exchange(free_, {}); }  // states that are not needed any more

private:
    std::map<LapId, int> clones_;
    std::set<LapId> behind_;  // the search cannot ask for them, but clones hold them
    std::vector<LapId> free_;
};

}  // namespace hopscotch
