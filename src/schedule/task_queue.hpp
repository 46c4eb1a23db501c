// SPDX-License-Identifier: Apache-2.0
// Which trial a free trainer takes if each trainer trains whole trials alone: the trial with the most work left (longest
// processing time first, Graham 1969), among equals the lowest id. PURE. A trial stays with the trainer that began it,
// because that trainer holds its state. A trainer is free as soon as its trial has no lap to train: the trial has ended, or
// the search has not decided yet.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/ids.hpp"

namespace hopscotch {

class TaskQueue {
public:
    explicit TaskQueue(int trainers);
    void without(TrainerId lost);  // a lost trainer takes no trial

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
    struct LongestFirst {
        bool operator()(std::pair<double, TrialId> const& a, std::pair<double, TrialId> const& b) const {
            return a.first != b.first ? a.first > b.first : a.second < b.second;
        }
    };
    using Ready = std::set<std::pair<double, TrialId>, LongestFirst>;  // cost and trial, that may be taken

    // An entry is taken out of its index before its task changes, and put into the right index afterwards.
    void list(TrialId trial, Task const& task);
    void unlist(TrialId trial, Task const& task);
    Ready& ready_with(Task const& task) { return task.holder ? held_[task.holder->index()] : unheld_; }
    void free_trainer(Task& task);
    void update(TrainerId trainer);

    std::map<TrialId, Task> tasks_;
    // Indexes, so that no lap costs a look at every trial or trainer.
    Ready unheld_;                // tasks that any trainer may take
    std::vector<Ready> held_;     // by trainer: tasks that only that trainer may take
    std::set<TrainerId> free_;    // trainers
    std::set<TrainerId> called_;  // of these, trainers that hold a ready task
};

}  // namespace hopscotch
