// SPDX-License-Identifier: Apache-2.0
// Which trial a free trainer takes when each trains whole trials by itself: the one with the most left to do (longest
// processing time first, Graham 1969), the lowest id of equals. PURE. A trial stays with the trainer that began it, which
// holds its state; a trainer is free as soon as its trial has no lap to do: it ended, or its search has not decided yet.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "core/ids.hpp"

namespace hopscotch {

class TaskQueue {
public:
    explicit TaskQueue(int trainers) : trains_(static_cast<std::size_t>(trainers)) {}
    void without(TrainerId lost) { trains_.at(lost.index()) = TrialId(-1); }  // it never takes anything

    void add_lap(TrialId trial, double remaining_cost);  // cost: of the trial, from this lap on
    void lap_done(TrialId trial);
    void forget(TrialId trial);  // it has ended, whatever laps it had

    // The next free trainer (by id) that finds something to do, and what; none: nobody is free, or nothing waits for them.
    struct Assigned {
        TrialId trial;
        TrainerId trainer;
    };
    std::optional<Assigned> take();

    std::optional<TrainerId> trainer_of(TrialId trial) const;  // that trains it now

private:
    struct Task {
        int laps = 0;  // not yet done
        double cost = 0;
        std::optional<TrainerId> holder;
        bool running = false;
    };
    void stop(Task& task);
    bool may_take(Task const& task, TrainerId trainer) const;

    std::map<TrialId, Task> tasks_;
    std::vector<std::optional<TrialId>> trains_;  // by trainer; none: free
};

}  // namespace hopscotch
