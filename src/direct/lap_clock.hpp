// SPDX-License-Identifier: Apache-2.0
// The clock of decisions: when a lap ends, and when the search hears of it. PURE. Two clocks:
//   virtual  laps run on a virtual cluster with one trainer for each shard. The report of a lap is due at its virtual end +
//            lookahead x the mean virtual duration of the laps that have ended. The clock must not go past a report that is
//            due if its record is missing.
//   arrival  a lap ends, and is due, when its record arrives.
// Reports are due in the order in which their laps end, ties by (trial, epoch).
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "schedule/virtual_cluster.hpp"

namespace hopscotch {

class LapClock {
public:
    virtual ~LapClock() = default;
    virtual void start(VirtualLap const& lap) = 0;
    virtual void forget(TrialId trial) = 0;      // its lap never ends, and its reports are never due
    virtual void arrived(LapId const& lap) = 0;  // the record of a lap is there

    // Moves on to the next event. Returns the laps that end then; an empty list: a report is due. Nullopt: no event is left.
    virtual std::optional<std::vector<LapId>> step() = 0;
    virtual std::optional<LapId> due() const = 0;  // the next report that is due now
    virtual void pop() = 0;                        // that report has been delivered
    virtual double now() const = 0;
};

std::unique_ptr<LapClock> make_virtual_clock(int shards, double lookahead, VirtualCluster::Cost cost);
std::unique_ptr<LapClock> make_arrival_clock();  // now() counts records

}  // namespace hopscotch
