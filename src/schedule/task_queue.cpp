// SPDX-License-Identifier: Apache-2.0
#include "schedule/task_queue.hpp"

namespace hopscotch {

TaskQueue::TaskQueue(int trainers) : held_(static_cast<std::size_t>(trainers)) {
    for (int trainer = 0; trainer < trainers; ++trainer) free_.insert(TrainerId(trainer));
}

void TaskQueue::without(TrainerId lost) {
    free_.erase(lost);
    update(lost);
}

void TaskQueue::add_lap(TrialId trial, double remaining_cost) {
    auto& task = tasks_[trial];
    unlist(trial, task);
    if (task.laps++ == 0) task.cost = remaining_cost;
    list(trial, task);
}

void TaskQueue::lap_done(TrialId trial) {
    auto const found = tasks_.find(trial);
    if (found == tasks_.end()) return;
    auto& task = found->second;
    unlist(trial, task);
    if (--task.laps == 0) free_trainer(task);
    list(trial, task);
}

void TaskQueue::forget(TrialId trial) {
    auto const found = tasks_.find(trial);
    if (found == tasks_.end()) return;
    unlist(trial, found->second);
    free_trainer(found->second);
    tasks_.erase(found);
}

void TaskQueue::list(TrialId trial, Task const& task) {
    if (task.laps <= 0 || task.running) return;
    ready_with(task).insert({task.cost, trial});
    if (task.holder) update(*task.holder);
}

void TaskQueue::unlist(TrialId trial, Task const& task) {
    if (task.laps <= 0 || task.running) return;
    ready_with(task).erase({task.cost, trial});
    if (task.holder) update(*task.holder);
}

void TaskQueue::free_trainer(Task& task) {
    if (task.running) free_.insert(*task.holder);
    if (task.running) update(*task.holder);
    task.running = false;
}

void TaskQueue::update(TrainerId trainer) {
    if (free_.contains(trainer) && !held_.at(trainer.index()).empty())
        called_.insert(trainer);
    else
        called_.erase(trainer);
}

std::optional<TaskQueue::Assigned> TaskQueue::take() {
    auto const& able = unheld_.empty() ? called_ : free_;
    if (able.empty()) return std::nullopt;
    auto const trainer = *able.begin();
    auto const& own = held_[trainer.index()];
    bool const takes_own = !own.empty() && (unheld_.empty() || LongestFirst()(*own.begin(), *unheld_.begin()));
    auto const trial = (takes_own ? own : unheld_).begin()->second;
    auto& task = tasks_.at(trial);
    unlist(trial, task);
    task.holder = trainer;
    task.running = true;
    free_.erase(trainer);
    update(trainer);
    return Assigned{trial, trainer};
}

std::optional<TrainerId> TaskQueue::trainer_of(TrialId trial) const {
    auto const found = tasks_.find(trial);
    return found != tasks_.end() && found->second.running ? found->second.holder : std::nullopt;
}

}  // namespace hopscotch
