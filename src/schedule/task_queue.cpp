// SPDX-License-Identifier: Apache-2.0
#include "schedule/task_queue.hpp"

namespace hopscotch {

void TaskQueue::add_lap(TrialId trial, double remaining_cost) {
    auto& task = tasks_[trial];
    if (task.laps++ == 0) task.cost = remaining_cost;
}

void TaskQueue::lap_done(TrialId trial) {
    auto const found = tasks_.find(trial);
    if (found != tasks_.end() && --found->second.laps == 0) free_trainer(found->second);
}

void TaskQueue::forget(TrialId trial) {
    auto const found = tasks_.find(trial);
    if (found == tasks_.end()) return;
    free_trainer(found->second);
    tasks_.erase(found);
}

void TaskQueue::free_trainer(Task& task) {
    if (task.running) trains_[task.holder->index()] = std::nullopt;
    task.running = false;
}

bool TaskQueue::may_take(Task const& task, TrainerId trainer) const {
    return task.laps > 0 && !task.running && (!task.holder || *task.holder == trainer);
}

std::optional<TaskQueue::Assigned> TaskQueue::take() {
    for (std::size_t i = 0; i < trains_.size(); ++i) {
        if (trains_[i]) continue;
        TrainerId const trainer(i);
        auto best = tasks_.end();
        for (auto task = tasks_.begin(); task != tasks_.end(); ++task)  // by id
            if (may_take(task->second, trainer) && (best == tasks_.end() || task->second.cost > best->second.cost))
                best = task;
        if (best == tasks_.end()) continue;
        best->second.holder = trainer;
        best->second.running = true;
        trains_[i] = best->first;
        return Assigned{best->first, trainer};
    }
    return std::nullopt;
}

std::optional<TrainerId> TaskQueue::trainer_of(TrialId trial) const {
    auto const found = tasks_.find(trial);
    return found != tasks_.end() && found->second.running ? found->second.holder : std::nullopt;
}

}  // namespace hopscotch
