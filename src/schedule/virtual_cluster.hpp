// SPDX-License-Identifier: Apache-2.0
// A cluster that exists in numbers only: trainers that run laps by `planned`, round the ring and without barriers, in time
// that is computed. PURE: one piece of code for decisions in virtual time, for plans and for tests. Its user is in the loop:
//   cluster.add(lap) ...; cluster.start_ready(); ended = cluster.run_until(*cluster.next_end()); cluster.add(...) ...
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "schedule/lap.hpp"
#include "schedule/visit.hpp"

namespace hopscotch {

// A lap as trainers queue it; release and remaining are those of Lap.
struct VirtualLap {
    LapId id;
    std::int64_t release = 0;
    double remaining = 0;
};

struct SimulatedUnit {
    TrialId trial;
    int epoch = 0;
    int step = 0;  // of the lap, 0..S-1; S: the validation
    TrainerId trainer;
    double start = 0, end = 0;
};
using SimulatedTask = std::function<void(SimulatedUnit const&)>;  // called when a task starts

class VirtualCluster {
public:
    // Of a unit (step 0..S-1), or of a lap's validation (step S; 0: there is none). Asked when the task starts.
    using Cost = std::function<double(LapId const&, int step)>;

    VirtualCluster(OwnerTable owners, Cost cost, SimulatedTask on_task = {});

    void add(VirtualLap const& lap);  // ready now. A trial has one lap here at a time
    void remove(TrialId trial);       // its lap, if any; the trainer that is at it is free now
    std::size_t laps() const { return laps_.size(); }

    // Idle trainers begin what they have: validation first, then release order, the longest remaining, the lowest id.
    void start_ready();

    std::optional<double> next_end() const;  // of a running task; none: nothing runs

    // Moves the clock, not beyond next_end(). What ends at that time goes on to its next trainer's queue; the laps that have
    // ended come out, by (trial, epoch).
    std::vector<LapId> run_until(double time);

    double now() const { return now_; }
    double busy() const { return busy_; }  // summed over trainers, of the tasks that have started

private:
    // What runs first. The trial is unique among what is queued.
    using Key = std::tuple<int, std::int64_t, double, TrialId>;
    struct Place {
        VirtualLap lap;
        int step = 0;
        TrainerId trainer;
        std::optional<double> ends;  // it runs
    };
    Key key(Place const& place) const;
    void enqueue(Place& place);
    bool end_task(Place& place);

    OwnerTable owners_;
    int shards_;
    Cost cost_;
    SimulatedTask on_task_;
    std::unordered_map<TrialId, Place> laps_;
    std::vector<std::set<Key>> queues_;  // by trainer
    std::vector<char> runs_;             // by trainer
    std::set<TrainerId> changed_;        // may have something to start
    std::set<std::pair<double, TrialId>> ends_;
    double now_ = 0, busy_ = 0;
};

}  // namespace hopscotch
