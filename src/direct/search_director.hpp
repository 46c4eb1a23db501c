// SPDX-License-Identifier: Apache-2.0
// The director of the search's own trials. PURE. OrderedDirector wraps it, and calls it in the order of the timeline's
// clock. When an order takes over a trial, this director hears that the trial failed.
#pragma once
#include <string>

#include "direct/timeline.hpp"

namespace hopscotch {

class SearchDirector {
public:
    virtual ~SearchDirector() = default;

    virtual void fill() = 0;                 // starts trials and takes up paused ones, while there are places
    virtual void run_on(TrialId trial) = 0;  // the next lap of a trial, if it may go on
    virtual void hear(LapId lap) = 0;        // the report of a lap is due: the search hears of it
    virtual void end_paused() = 0;           // no trial runs: paused ones never go on
    virtual bool grow() { return false; }    // after that: the search may start more trials now
    virtual bool paused(TrialId) const { return false; }
    virtual void fail(TrialId trial) = 0;  // the search counts this trial as failed; it leaves the director
    virtual void finish() = 0;             // Timeline::finish_reason(): no trial starts or goes on
};

}  // namespace hopscotch
