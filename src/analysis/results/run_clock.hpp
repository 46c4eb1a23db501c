// SPDX-License-Identifier: Apache-2.0
// Seconds of work on a run: from its start, without the time in which no job worked on it.
#pragma once
#include <utility>
#include <vector>

namespace hopscotch {

class RunClock {
public:
    RunClock(double start_unix_s, std::vector<std::pair<double, double>> pauses);  // from, until

    double at(double unix_s) const;  // at least 0; 0 for a time that is not finite

private:
    double start_unix_s_;
    std::vector<std::pair<double, double>> pauses_;
    std::vector<double> paused_s_;  // before each pause
};

}  // namespace hopscotch
