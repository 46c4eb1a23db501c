// SPDX-License-Identifier: Apache-2.0
// A simulated cluster: trainers run laps in computed time, as a policy says. PURE. Decisions in virtual time, plans and
// tests share this code. The caller drives the loop:
//   cluster.add(lap) ...; cluster.start_ready(); ended = cluster.run_until(*cluster.next_end()); cluster.add(...) ...
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "schedule/lap.hpp"
#include "schedule/policy.hpp"

namespace hopscotch {

// A lap in a trainer's queue; release, remaining and unit as in Lap.
struct VirtualLap {
    LapId id;
    std::int64_t release = 0;
    double remaining = 0;
    double unit = 0;
    Route route = {};
};

struct SimulatedUnit {
    TrialId trial;
    int epoch = 0;
    int step = 0;  // of the lap, 0..S-1; S: the validation
    TrainerId trainer;
    double start = 0, end = 0;
};
using SimulatedTask = std::function<void(SimulatedUnit const&)>;  // called when a task starts

// The trial that a free trainer takes, after validation and release order: the one with the most work left, then the one
// that came first, then the lowest id. by_units is the rule of the trainers (strategy/mop): units of the present lap that
// are done do not count. by_laps: they count until the lap is over, and no trial came first. Decisions in virtual time keep
// that rule, because those of earlier runs were taken under it.
enum class QueueRule { by_units, by_laps };

struct ClusterOptions {
    QueueRule rule = QueueRule::by_units;
    double hop = 0;  // time of a state on its way to another trainer
    SimulatedTask on_task = {};
    std::vector<double> speed = {};  // by trainer; empty: as the owners were planned for
    std::uint64_t seed = 0;          // of policies that draw
};

class VirtualCluster {
public:
    // Cost of a unit (step 0..S-1), or of a lap's validation (step S; 0: there is none), at speed 1. Called when the task
    // starts.
    using Cost = std::function<double(LapId const&, int step)>;

    VirtualCluster(Policy const& policy, OwnerTable owners, Cost cost, ClusterOptions options = {});
    ~VirtualCluster();

    void add(VirtualLap const& lap);  // is ready now, at home; a trial has one lap at a time
    void remove(TrialId trial);       // the trial's lap, if there is one; its trainer is free now
    std::size_t laps() const { return laps_.size(); }

    void start_ready();  // idle trainers begin a task

    std::optional<double> next_end() const;  // of a running task or of a hop; none: nothing is under way

    // Moves the clock, not beyond next_end(). Laps whose task ends then go to the next trainer's queue. Returns the laps
    // that have ended, by (trial, epoch).
    std::vector<LapId> run_until(double time);

    double now() const { return now_; }
    double busy() const { return busy_; }                         // summed over trainers, of the tasks that have started
    Matchmaker const* matches() const { return matches_.get(); }  // null: the policy is planned

private:
    // The smallest key runs first. A trial is queued once.
    using Key = std::tuple<int, std::int64_t, double, std::int64_t, TrialId>;
    struct Place {
        VirtualLap lap;
        int step = 0;
        TrainerId home = {}, trainer = {};
        std::optional<double> ends = {};  // its task runs, or its hop is under way, until then
        bool hops = false;
        std::int64_t came = 0;  // its number among all arrivals in queues
    };
    Key key(Place const& place) const;
    TrainerId planned_trainer(VirtualLap const& lap, int step) const;
    void go_to(Place& place, TrainerId trainer);
    void enqueue(Place& place);
    void take_matches();
    void count_validation(Place const& place, int change);
    bool end_task(Place& place);
    bool end_event(Place& place);
    bool is_over(Place const& place) const;
    double speed_of(TrainerId trainer) const {
        return options_.speed.empty() ? owners_.speed_of(trainer) : options_.speed[trainer.index()];
    }

    Policy const& policy_;
    OwnerTable owners_;
    int shards_;
    Cost cost_;
    ClusterOptions options_;
    std::unique_ptr<Matchmaker> matches_;  // of a dispatched policy
    std::unordered_map<TrialId, Place> laps_;
    std::vector<std::set<Key>> queues_;  // by trainer
    std::vector<char> runs_;             // by trainer
    std::set<TrainerId> changed_;        // trainers that may have a task to start
    std::set<std::pair<double, TrialId>> ends_;
    std::int64_t arrivals_ = 0, validating_ = 0;
    double now_ = 0, busy_ = 0;
};

}  // namespace hopscotch
