// SPDX-License-Identifier: Apache-2.0
// A simulated cluster: trainers run laps in computed time, in the visit order of a policy, without barriers. PURE. Decisions
// in virtual time, plans and tests share this code. The caller drives the loop:
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
#include "schedule/policy.hpp"

namespace hopscotch {

// A lap in a trainer's queue; release and remaining as in Lap.
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
    // Cost of a unit (step 0..S-1), or of a lap's validation (step S; 0: there is none). Called when the task starts.
    using Cost = std::function<double(LapId const&, int step)>;

    VirtualCluster(Policy const& policy, OwnerTable owners, Cost cost, SimulatedTask on_task = {});

    void add(VirtualLap const& lap);  // is ready now; a trial has one lap at a time
    void remove(TrialId trial);       // the trial's lap, if there is one; its trainer is free now
    std::size_t laps() const { return laps_.size(); }

    // Idle trainers begin a task: validation first, then release order, the longest remaining trial, the lowest id.
    void start_ready();

    std::optional<double> next_end() const;  // of a running task; none: no task runs

    // Moves the clock, not beyond next_end(). Laps whose task ends then go to the next trainer's queue. Returns the laps
    // that have ended, by (trial, epoch).
    std::vector<LapId> run_until(double time);

    double now() const { return now_; }
    double busy() const { return busy_; }  // summed over trainers, of the tasks that have started

private:
    // The smallest key runs first. A trial is queued once.
    using Key = std::tuple<int, std::int64_t, double, TrialId>;
    struct Place {
        VirtualLap lap;
        int step = 0;
        TrainerId trainer;
        std::vector<ShardId> visited;  // in this lap
        std::optional<double> ends;    // it runs
    };
    Key key(Place const& place) const;
    void enqueue(Place& place);
    bool end_task(Place& place);

    Policy const& policy_;
    OwnerTable owners_;
    int shards_;
    Cost cost_;
    SimulatedTask on_task_;
    std::unordered_map<TrialId, Place> laps_;
    std::vector<std::set<Key>> queues_;  // by trainer
    std::vector<char> runs_;             // by trainer
    std::set<TrainerId> changed_;        // trainers that may have a task to start
    std::set<std::pair<double, TrialId>> ends_;
    double now_ = 0, busy_ = 0;
};

}  // namespace hopscotch
