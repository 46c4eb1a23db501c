// SPDX-License-Identifier: Apache-2.0
// Longest processing time first: against Graham's bounds on random costs, and slots that are freed early.
#include "schedule/task_queue.hpp"

#include <gtest/gtest.h>

#include <time.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "core/rng.hpp"

namespace hopscotch {
namespace task_queue_test {

struct Schedule {
    double makespan = 0;
    std::vector<TrialId> begun;
};

// Trials of one lap each; trainers that are free at a time take theirs before the clock moves on.
Schedule simulate(std::vector<double> const& costs, int trainers) {
    TaskQueue queue(trainers);
    for (std::size_t t = 0; t < costs.size(); ++t) queue.add_lap(TrialId(t), costs[t]);
    std::vector<std::pair<double, TrialId>> running;  // end, trial
    Schedule out;
    double now = 0;
    while (true) {
        while (auto const taken = queue.take()) {
            running.emplace_back(now + costs[taken->trial.index()], taken->trial);
            out.begun.push_back(taken->trial);
        }
        if (running.empty()) return out;
        auto const next = std::min_element(running.begin(), running.end());
        out.makespan = now = next->first;
        queue.lap_done(next->second);
        running.erase(next);
    }
}

// The best of all assignments, for a few trials.
double optimum(std::vector<double> const& costs, std::vector<double>& loads, std::size_t next) {
    if (next == costs.size()) return *std::max_element(loads.begin(), loads.end());
    double best = std::accumulate(costs.begin(), costs.end(), 0.0);
    for (auto& load : loads) {
        load += costs[next];
        best = std::min(best, optimum(costs, loads, next + 1));
        load -= costs[next];
    }
    return best;
}

TEST(TaskQueue, MakespanIsWithinGrahamsBounds) {
    Rng rng(20);
    for (int instance = 0; instance < 400; ++instance) {
        int const trainers = 1 + static_cast<int>(rng.below(8));
        std::vector<double> costs(1 + rng.below(40));
        for (auto& cost : costs) cost = 1 + static_cast<double>(rng.below(1000)) * (rng.below(5) == 0 ? 10 : 1);
        auto const sum = std::accumulate(costs.begin(), costs.end(), 0.0);
        auto const longest = *std::max_element(costs.begin(), costs.end());
        auto const p = static_cast<double>(trainers);
        auto const makespan = simulate(costs, trainers).makespan;
        EXPECT_GE(makespan, std::max(sum / p, longest) - 1e-6);
        EXPECT_LE(makespan, sum / p + (1 - 1 / p) * longest + 1e-6);
    }
}

// 4/3 - 1/(3p) of the optimum (Graham 1969), which a list in any other order does not promise.
TEST(TaskQueue, LongestFirstIsNearTheOptimum) {
    Rng rng(21);
    for (int instance = 0; instance < 100; ++instance) {
        int const trainers = 2 + static_cast<int>(rng.below(2));
        std::vector<double> costs(trainers == 2 ? 9 : 7);
        for (auto& cost : costs) cost = 1 + rng.below(50);
        std::vector<double> loads(static_cast<std::size_t>(trainers));
        auto const best = optimum(costs, loads, 0);
        EXPECT_LE(simulate(costs, trainers).makespan, (4.0 / 3 - 1.0 / (3 * trainers)) * best + 1e-9);
    }
}

TEST(TaskQueue, LongestFirstLowestIdOfEquals) {
    auto const begun = simulate({1, 3, 2, 3, 1}, 1).begun;
    EXPECT_EQ(begun, (std::vector<TrialId>{TrialId(1), TrialId(3), TrialId(2), TrialId(0), TrialId(4)}));
}

// The search decides after each lap: a trial comes back with one lap, and goes to the trainer that holds its state. Seconds
// of this thread for one lap of every trial.
double seconds_of_a_round(int trainers) {
    TaskQueue queue(trainers);
    auto const trials = 4 * trainers;
    auto const thread_s = [] {
        timespec now{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
    };
    double begun_s = 0;
    for (int round = 0; round < 2; ++round) {  // in the first one every trial gets its trainer
        begun_s = thread_s();
        for (int first = 0; first < trials; first += trainers) {
            for (int t = first; t < first + trainers; ++t) queue.add_lap(TrialId(t), 1);
            while (queue.take()) {
            }
            for (int t = first; t < first + trainers; ++t) queue.lap_done(TrialId(t));
        }
        for (int t = 0; t < trials; ++t) {  // one by one, while the others wait for their decisions
            queue.add_lap(TrialId(t), 1);
            EXPECT_EQ(queue.take()->trial, TrialId(t));
            EXPECT_FALSE(queue.take());
            queue.lap_done(TrialId(t));
        }
    }
    return thread_s() - begun_s;
}

// Eight times the trainers and trials: eight times the work and a logarithm, not 512 times.
TEST(TaskQueue, ALapCostsTheSameWithManyTrials) {
    double small = 1e9, large = 1e9;
    for (int repeat = 0; repeat < 3; ++repeat) {
        small = std::min(small, seconds_of_a_round(16));
        large = std::min(large, seconds_of_a_round(128));
    }
    EXPECT_LT(large / small, 40) << small << " s, " << large << " s";
}

// The rule without an index: of the free trainers the lowest that may take something, and of that the longest.
class SlowQueue {
public:
    explicit SlowQueue(int trainers) : busy_(static_cast<std::size_t>(trainers)) {}
    void add_lap(TrialId trial, double cost) {
        auto& task = tasks_[trial];
        if (task.laps++ == 0) task.cost = cost;
    }
    void lap_done(TrialId trial) {
        if (auto task = tasks_.find(trial); task != tasks_.end() && --task->second.laps == 0) stop(task->second);
    }
    void forget(TrialId trial) {
        if (auto task = tasks_.find(trial); task != tasks_.end()) stop(task->second);
        tasks_.erase(trial);
    }
    std::optional<TaskQueue::Assigned> take() {
        for (std::size_t trainer = 0; trainer < busy_.size(); ++trainer) {
            if (busy_[trainer]) continue;
            auto best = tasks_.end();
            for (auto task = tasks_.begin(); task != tasks_.end(); ++task) {
                auto const& [laps, cost, holder, running] = task->second;
                bool const may = laps > 0 && !running && (holder < 0 || holder == static_cast<int>(trainer));
                if (may && (best == tasks_.end() || cost > best->second.cost)) best = task;
            }
            if (best == tasks_.end()) continue;
            best->second.holder = static_cast<int>(trainer);
            best->second.running = busy_[trainer] = true;
            return TaskQueue::Assigned{best->first, TrainerId(trainer)};
        }
        return std::nullopt;
    }

private:
    struct Task {
        int laps = 0;
        double cost = 0;
        int holder = -1;
        bool running = false;
    };
    void stop(Task& task) {
        if (task.running) busy_[static_cast<std::size_t>(task.holder)] = false;
        task.running = false;
    }
    std::map<TrialId, Task> tasks_;
    std::vector<bool> busy_;
};

TEST(TaskQueue, AssignsAsTheRuleWithoutAnIndex) {
    Rng rng(22);
    for (int instance = 0; instance < 200; ++instance) {
        int const trainers = 1 + static_cast<int>(rng.below(5));
        TaskQueue queue(trainers);
        SlowQueue slow(trainers);
        for (int step = 0; step < 200; ++step) {
            TrialId const trial(static_cast<int>(rng.below(12)));
            auto const what = rng.below(8);
            auto const cost = 1 + static_cast<double>(rng.below(4));
            if (what < 4) queue.add_lap(trial, cost), slow.add_lap(trial, cost);
            if (what >= 4 && what < 7) queue.lap_done(trial), slow.lap_done(trial);
            if (what == 7) queue.forget(trial), slow.forget(trial);
            if (rng.below(2) == 0) continue;
            auto const taken = queue.take(), expected = slow.take();
            ASSERT_EQ(taken.has_value(), expected.has_value()) << "instance " << instance << ", step " << step;
            if (!taken) continue;
            ASSERT_EQ(std::pair(taken->trial, taken->trainer), std::pair(expected->trial, expected->trainer));
        }
    }
}

class OneTrainer : public ::testing::Test {
protected:
    OneTrainer() {
        for (int lap = 0; lap < 3; ++lap) queue_.add_lap(TrialId(0), 9 - lap);
        queue_.add_lap(TrialId(1), 5);
        EXPECT_EQ(queue_.take()->trial, TrialId(0));
        EXPECT_FALSE(queue_.take());
    }
    TaskQueue queue_{1};
};

TEST_F(OneTrainer, ATrialKeepsItsTrainerThroughItsLaps) {
    queue_.lap_done(TrialId(0));
    queue_.lap_done(TrialId(0));
    EXPECT_FALSE(queue_.take());
    EXPECT_EQ(queue_.trainer_of(TrialId(0)), TrainerId(0));
    queue_.lap_done(TrialId(0));
    EXPECT_EQ(queue_.take()->trial, TrialId(1));
}

TEST_F(OneTrainer, AnEarlyStopFreesTheSlot) {
    queue_.lap_done(TrialId(0));
    queue_.forget(TrialId(0));
    EXPECT_FALSE(queue_.trainer_of(TrialId(0)));
    EXPECT_EQ(queue_.take()->trial, TrialId(1));
    queue_.lap_done(TrialId(0));  // a record that comes too late means nothing
    EXPECT_EQ(queue_.trainer_of(TrialId(1)), TrainerId(0));
}

// Two trainers: the trial whose search makes up its mind late goes on where its state is, not where it is free.
TEST(TaskQueue, AStateStaysWithItsTrainer) {
    TaskQueue queue(2);
    queue.add_lap(TrialId(0), 9);
    queue.add_lap(TrialId(1), 8);
    EXPECT_EQ(queue.take()->trainer, TrainerId(0));
    EXPECT_EQ(queue.take()->trainer, TrainerId(1));
    queue.lap_done(TrialId(0));  // waits for a decision
    queue.add_lap(TrialId(2), 7);
    EXPECT_EQ(queue.take()->trainer, TrainerId(0));
    queue.add_lap(TrialId(0), 6);
    queue.lap_done(TrialId(1));
    EXPECT_FALSE(queue.take());  // trainer 1 is free, but the state of trial 0 is on trainer 0
    queue.lap_done(TrialId(2));
    auto const taken = queue.take();
    ASSERT_TRUE(taken);
    EXPECT_EQ(taken->trial, TrialId(0));
    EXPECT_EQ(taken->trainer, TrainerId(0));
}

}  // namespace task_queue_test
}  // namespace hopscotch
