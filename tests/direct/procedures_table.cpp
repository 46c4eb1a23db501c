// SPDX-License-Identifier: Apache-2.0
// Prints what decisions in virtual time cost each procedure: makespan and utilisation over decisions by arrival, as many
// trainers as shards, real units take the virtual cost times a jitter of 5 %. Usage: direct_procedures_table [SEEDS]
#include <cstdio>
#include <cstdlib>

#include "direct/simulated_job.hpp"
#include "search/search.hpp"

namespace hopscotch {
namespace {

Experiment experiment_of(std::string const& procedure, int epochs, std::int64_t seed) {
    Problems problems("f.json");
    auto out = read_experiment(
        fmt::format(R"({{"seed": {}, "data": {{"path": "d"}}, "model": {{"name": "mlp"}}, "run": {{"dir": "r"}},
                         "train": {{"epochs": {}}}, "search": {{"metric": "val_loss", {}}},
                         "space": {{"train.optimizer.lr": {{"type": "float", "low": 1e-4, "high": 1, "log": true}},
                                    "train.optimizer.momentum": {{"type": "float", "low": 0.01, "high": 0.99}}}}}})",
                    seed, epochs, procedure),
        {}, problems);
    problems.throw_if_any();
    return out;
}

double lognormal(double sigma, std::int64_t seed, std::int64_t a, std::int64_t b) {
    return std::exp(sigma * Rng(stream_key(static_cast<std::uint64_t>(seed), Purpose::synthetic, {a, b})).normal());
}

struct Result {
    double makespan = 0, utilisation = 0;
    std::size_t laps = 0;
};

Result simulate(Experiment const& experiment, int shards, double spread, DecideBy by) {
    auto const cost_of = [&](TrialView const& trial) {
        auto const about = static_cast<std::int64_t>(1e9 * trial.config->train.optimizer.momentum);
        return experiment.search.procedure == "pbt" ? 1.0 : lognormal(spread, 1, about, 0);
    };
    auto const director =
        make_director(experiment, make_search(experiment), {cost_of, shards, 0, experiment.search.decide.lookahead, by});
    SimulatedJob job(*director, 1);
    job.loss = [&](LapId const& lap) {
        auto const& assignment = director->trials()[lap.trial.index()].assignment;
        return std::abs(std::log10(value_of(assignment, "train.optimizer.lr")->number()) + 2) + 1.0 / (lap.epoch + 1) +
               0.05 * lognormal(1, 3, lap.trial.value, lap.epoch);
    };
    auto const cost = [&](LapId const& lap, int step) {
        if (step == shards) return 0.0;
        bool const population = experiment.search.procedure == "pbt";
        double const of_trial =
            population ? lognormal(spread, 1, lap.trial.value, 1) : director->trials()[lap.trial.index()].unit_cost;
        return of_trial * lognormal(0.05, 2, lap.trial.value, 1000 * lap.epoch + step);
    };
    require(job.run_on(shards, shards, cost), "hangs");
    return {job.makespan, job.utilisation, job.trained.size()};
}

void row(int shards, double spread, std::string const& procedure, int epochs, int seeds) {
    double makespan = 0, utilisation = 0, by_arrival = 0, laps = 0;
    for (int seed = 0; seed < seeds; ++seed) {
        auto const experiment = experiment_of(procedure, epochs, seed);
        auto const plain = simulate(experiment, shards, spread, DecideBy::arrival);
        auto const ours = simulate(experiment, shards, spread, DecideBy::virtual_time);
        makespan += ours.makespan / plain.makespan / seeds;
        utilisation += ours.utilisation / plain.utilisation / seeds;
        by_arrival += plain.utilisation / seeds;
        laps += static_cast<double>(ours.laps) / static_cast<double>(plain.laps) / seeds;
    }
    std::printf("%2d shards, spread %.1f: makespan %.3f utilisation %.3f laps %.3f (by arrival %.3f)  %s\n", shards, spread,
                makespan, utilisation, laps, by_arrival, procedure.c_str());
    std::fflush(stdout);
}

}  // namespace
}  // namespace hopscotch

int main(int count, char** words) {
    int const seeds = count > 1 ? std::atoi(words[1]) : 4;
    for (int const shards : {8, 16})
        for (double const spread : {0.0, 0.6}) {
            auto const n = std::to_string(15 * shards), population = std::to_string(2 * shards);
            hopscotch::row(shards, spread, R"("procedure": "asha", "trials": )" + n, 9, seeds);
            hopscotch::row(shards, spread, R"("procedure": "asha", "variant": "stop", "trials": )" + n, 9, seeds);
            hopscotch::row(shards, spread, R"("procedure": "median", "trials": )" + n, 9, seeds);
            hopscotch::row(shards, spread, R"("procedure": "tpe", "trials": )" + n, 9, seeds);
            hopscotch::row(shards, spread, R"("procedure": "hyperband", "trials": )" + n, 9, seeds);
            hopscotch::row(shards, spread, R"("procedure": "bohb", "trials": )" + n, 9, seeds);
            hopscotch::row(shards, spread, R"("procedure": "successive_halving", "trials": )" + n, 9, seeds);
            hopscotch::row(shards, spread, R"("procedure": "pbt", "interval": 4, "population": )" + population, 40, seeds);
        }
}
