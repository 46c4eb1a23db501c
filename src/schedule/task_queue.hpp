// SPDX-License-Identifier: Apache-2.0
// Which trial a free trainer takes if each trainer trains whole trials alone: the trial with the most work left (longest
// processing time first, Graham 1969), among equals the lowest id. PURE. A trial stays with the trainer that began it,
// because that trainer holds its state. A trainer is free as soon as its trial has no lap to train: the trial has ended, or
// the search has not decided yet.
#pragma once
#include <map>
#include <optional>
#include <vector>

#include "core/ids.hpp"

namespace hopscotch {

class TaskQueue {
public:
    explicit TaskQueue(int trainers) : trains_(static_cast<std::size_t>(trainers)) {}
    void without(TrainerId lost) { trains_.at(lost.index()) = TrialId(-1); }  // a lost trainer takes no trial

    void add_lap(TrialId trial, double remaining_cost);  // of the trial, from this lap on
    void lap_done(TrialId trial);
    void forget(TrialId trial);  // the trial has ended; its laps are not trained

    // The free trainer with the lowest id that has a trial to train, and that trial. None: no such trainer.
    struct Assigned {
        TrialId trial;
        TrainerId trainer;
    };
    std::optional<Assigned> take();

    std::optional<TrainerId> trainer_of(TrialId trial) const;  // the trainer that trains the trial now

private:
    struct Task {
        int laps = 0;  // not yet done
        double cost = 0;
        std::optional<TrainerId> holder;
        bool running = false;
    };
    void free_trainer(Task& task);
    bool may_take(Task const& task, TrainerId trainer) const;

    std::map<TrialId, Task> tasks_;
    std::vector<std::optional<TrialId>> trains_;  // by trainer; none: free
};

}  // namespace hopscotch
