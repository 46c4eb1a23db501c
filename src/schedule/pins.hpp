// SPDX-License-Identifier: Apache-2.0
// Which states at the ends of laps clones may still ask for. PURE. A state can be asked for from its lap's report to the
// report of the trial's next lap, and is held for every clone that did until that clone has trained a lap.
#pragma once
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "schedule/lap.hpp"

namespace hopscotch {

class Pins {
public:
    void reported(LapId lap);  // the state before it is out of reach
    void hold(LapId state) { ++clones_[state]; }
    void let_go(LapId state);
    std::vector<LapId> take() { return std::exchange(free_, {}); }  // states that are free now

private:
    std::map<LapId, int> clones_;
    std::set<LapId> behind_;  // out of reach, but held
    std::vector<LapId> free_;
};

}  // namespace hopscotch
