// SPDX-License-Identifier: Apache-2.0
// A part of a trainer's work that waits for others: the heartbeat shows the phase, and the seconds are added up.
#pragma once
#include "comm/activity.hpp"
#include "core/clock.hpp"

namespace hopscotch {

class TimedPhase {
public:
    TimedPhase(Activity& activity, Phase phase, double& seconds)
        : activity_(activity), seconds_(seconds), before_(activity.phase.exchange(phase)), since_s_(monotonic_s()) {}
    ~TimedPhase() {
        activity_.phase = before_;
        seconds_ += monotonic_s() - since_s_;
    }
    TimedPhase(TimedPhase const&) = delete;
    TimedPhase& operator=(TimedPhase const&) = delete;

private:
    Activity& activity_;
    double& seconds_;
    Phase before_;
    double since_s_;
};

}  // namespace hopscotch
