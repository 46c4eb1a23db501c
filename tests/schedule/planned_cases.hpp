// SPDX-License-Identifier: Apache-2.0
// Runs of `planned` to simulate: tasks with a jitter of 1 %, and hops that take 4 % of a unit.
#pragma once
#include <cmath>
#include <vector>

#include "core/rng.hpp"
#include "schedule/policy.hpp"
#include "schedule/simulate.hpp"

namespace hopscotch {

constexpr double k_jitter = 0.01, k_hop = 0.04;
constexpr int k_seeds = 8;

struct PlannedCase {
    int trainers = 8, shards = 8, trials = 8, epochs = 1;
    std::int64_t in_flight = INT64_MAX;
    QueueRule rule = QueueRule::by_units;
};

// Units of 1, or lognormal with that sigma; validation as a part of a unit.
inline std::vector<TrialCost> costs_of(PlannedCase const& in, double sigma, std::int64_t seed, double validation = 0) {
    Rng rng(stream_key(static_cast<std::uint64_t>(seed), Purpose::synthetic, {in.trials}));
    std::vector<TrialCost> out;
    for (int t = 0; t < in.trials; ++t) {
        double const unit = std::exp(sigma * rng.normal());
        out.push_back({TrialId(t), unit, validation * unit, in.epochs});
    }
    return out;
}

inline double mean_unit(std::vector<TrialCost> const& costs) {
    double sum = 0;
    for (auto const& each : costs) sum += each.unit;
    return sum / static_cast<double>(costs.size());
}

// The makespan of no schedule is smaller, whoever owns which shard.
inline double machine_bound(std::vector<TrialCost> const& costs, int shards, int trainers) {
    double all = 0, longest = 0;
    for (auto const& each : costs) {
        double const alone = each.epochs * (shards * each.unit + each.validation);
        all += alone;
        longest = std::max(longest, alone);
    }
    return std::max(longest, all / trainers);
}

// Mean over seeds of jitter.
inline double mean_makespan(std::vector<TrialCost> const& trials, OwnerTable const& owners, std::int64_t in_flight,
                            QueueRule rule = QueueRule::by_units) {
    double sum = 0;
    for (int seed = 0; seed < k_seeds; ++seed)
        sum += simulate(policy_named("planned"), trials, owners,
                        {in_flight, k_hop * mean_unit(trials), k_jitter, static_cast<std::uint64_t>(seed), rule})
                   .makespan;
    return sum / k_seeds;
}

// Over the bound.
inline double mean_ratio(PlannedCase const& in, std::vector<TrialCost> const& trials) {
    auto const owners = make_owners(in.shards, in.trainers, in.trials);
    return mean_makespan(trials, owners, in.in_flight, in.rule) / machine_bound(trials, in.shards, in.trainers);
}

}  // namespace hopscotch
