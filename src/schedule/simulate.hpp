// SPDX-License-Identifier: Apache-2.0
// Event simulation of trials that run to their last epoch: the tasks of every trainer, in the order of the real queues.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/virtual_cluster.hpp"
#include "schedule/visit.hpp"

namespace hopscotch {

// Assumptions of plans: the time of a hop in units of the mean trial, and the jitter of a task.
inline constexpr double k_usual_hop = 0.04, k_usual_jitter = 0.01;

// Of each trial, plans simulate at most this many laps: time is lost only at the start and the end of a run.
inline constexpr int k_planned_laps = 3;

double mean_unit_cost(std::span<TrialCost const> trials);

double work_of(std::span<TrialCost const> trials, int shards);  // units and validations

// The first laps of each trial: as many as make most_units units in all, but at least one.
std::vector<TrialCost> first_laps(std::vector<TrialCost> trials, int shards, std::int64_t most_units);

struct SimulationOptions {
    std::int64_t in_flight = INT64_MAX;
    double hop = 0;     // time of a state on its way
    double jitter = 0;  // of every task: its cost times 1 + jitter x N(0, 1), drawn from the seed
    std::uint64_t seed = 0;
    QueueRule rule = QueueRule::by_units;
    std::vector<double> speed = {};  // as in ClusterOptions
};

struct Simulation {
    double makespan = 0;
    double busy = 0;                // summed over trainers
    std::int64_t looks = 0;         // of a dispatched policy, at pairs of a trial and a trainer
    std::vector<TrialId> admitted;  // in order
};

// on_task is called for every task, in the order of their starts: for tests and Gantt charts.
Simulation simulate(Policy const& policy, std::vector<TrialCost> const& trials, OwnerTable const& owners,
                    SimulationOptions const& options = {}, SimulatedTask const& on_task = {});

// Hops of a lap under a dispatched policy, with the usual jitter, which decides where equal trials go.
double simulated_hops_per_lap(Policy const& policy, std::vector<TrialCost> const& trials, OwnerTable const& owners,
                              std::int64_t in_flight);

}  // namespace hopscotch
