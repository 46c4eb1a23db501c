// SPDX-License-Identifier: Apache-2.0
// When a lap ends and when the search hears of it, as far as decisions are concerned. PURE. Two clocks:
//   virtual  laps run on a virtual cluster of one trainer a shard. The report of a lap is due at its virtual end +
//            lookahead x the mean virtual duration of a lap (of those that have ended). The clock must not go past a report
//            that is due and not yet known.
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
    virtual void forget(TrialId trial) = 0;      // neither its lap nor its reports will be
    virtual void arrived(LapId const& lap) = 0;  // the record of a lap is there

    // On to the next time at which anything happens: the laps that end then (none: a report is due). Nullopt: nothing will.
    virtual std::optional<std::vector<LapId>> step() = 0;
    virtual std::optional<LapId> due() const = 0;  // the next report, if its time has come
    virtual void pop() = 0;                        // that report has been delivered
    virtual double now() const = 0;
};

std::unique_ptr<LapClock> make_virtual_clock(int shards, double lookahead, VirtualCluster::Cost cost);
std::unique_ptr<LapClock> make_arrival_clock();  // now() counts records

}  // namespace hopscotch
