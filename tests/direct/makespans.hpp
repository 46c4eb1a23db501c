// SPDX-License-Identifier: Apache-2.0
// What it costs that decisions wait for virtual time: simulated makespans and utilisations with decisions in virtual time,
// over those with decisions by arrival. Real units take the virtual cost, times an error of the trial, times a jitter of 5
// %.
#pragma once
#include <cmath>

#include "direct/simulated_job.hpp"
#include "direct/toy_pbt.hpp"
#include "direct/toy_searches.hpp"

namespace hopscotch {

enum class Decider { asha, dice, median, pbt };

struct Case {
    Decider procedure = Decider::asha;
    int trainers = 8;  // and shards
    std::int64_t trials = 120;
    int epochs = 9;
    double spread = 0, error = 0.05;  // lognormal: of costs between trials, of the virtual cost
    std::int64_t in_flight = 0;
};

struct Compared {
    double makespan = 0, utilisation = 0, by_arrival = 0;  // ratio, ratio, utilisation
};

inline double lognormal(double sigma, std::int64_t seed, std::int64_t what, std::int64_t which) {
    return std::exp(sigma * Rng(stream_key(static_cast<std::uint64_t>(seed), Purpose::synthetic, {what, which})).normal());
}

struct Simulated {
    double makespan = 0, utilisation = 0;
};

inline Simulated simulate(Case const& in, std::int64_t seed, double lookahead, DecideBy by) {
    auto const search = [&]() -> std::unique_ptr<ToySearch> {
        if (in.procedure == Decider::asha) return std::make_unique<ToyAsha>(in.trials, 3, in.epochs);
        if (in.procedure == Decider::dice) return std::make_unique<ToyDice>(seed, in.trials, in.epochs);
        if (in.procedure == Decider::median) return std::make_unique<ToyMedian>(in.trials, in.epochs);
        return std::make_unique<ToyPbt>(seed, in.trials, 4, in.epochs);
    };
    auto made = search();
    // A clone keeps the cost of its trial: hyperparameters only.
    made->cost = [&in, seed](std::int64_t about) { return lognormal(in.spread, seed, 1, about % 1000); };
    auto const director =
        make_director(toy_experiment(in.epochs), std::move(made), {toy_cost, in.trainers, in.in_flight, lookahead, by});
    SimulatedJob job(*director, static_cast<std::uint64_t>(seed));
    job.loss = [seed](LapId const& lap) { return toy_random(seed, lap.trial.value, -7) + 1.0 / (lap.epoch + 1); };
    auto const cost = [&](LapId const& lap, int step) {
        if (step == in.trainers) return 0.0;
        auto const jitter = lognormal(0.05, seed, 1000 + lap.trial.value, 100 * lap.epoch + step);
        return lognormal(in.spread, seed, 1, lap.trial.value) * lognormal(in.error, seed, 2, lap.trial.value) * jitter;
    };
    require(job.run_on(in.trainers, in.trainers, cost), "the simulation hangs");
    return {job.makespan, job.utilisation};
}

inline Compared compare(Case const& in, double lookahead, int seeds) {
    Compared out;
    for (int seed = 0; seed < seeds; ++seed) {
        auto const plain = simulate(in, seed, lookahead, DecideBy::arrival);
        auto const ours = simulate(in, seed, lookahead, DecideBy::virtual_time);
        out.makespan += ours.makespan / plain.makespan / seeds;
        out.utilisation += ours.utilisation / plain.utilisation / seeds;
        out.by_arrival += plain.utilisation / seeds;
    }
    return out;
}

}  // namespace hopscotch
