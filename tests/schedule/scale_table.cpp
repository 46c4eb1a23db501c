// SPDX-License-Identifier: Apache-2.0
// Not a test: the simulation of large clusters on one core. schedule_scale_table [POLICY TRAINERS TRIALS EPOCHS [SIGMA]]
// prints microseconds a decision (a unit), memory, and the utilisation of the trainers. Costs are lognormal.
#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/rng.hpp"
#include "schedule/policy.hpp"
#include "schedule/simulate.hpp"

namespace {

using namespace hopscotch;

struct Size {
    int trainers, trials, epochs;
};

void measure(std::string const& policy, Size const& size, double sigma) {
    Rng rng(3);
    std::vector<TrialCost> trials;
    for (int t = 0; t < size.trials; ++t) trials.push_back({TrialId(t), std::exp(sigma * rng.normal()), 0, size.epochs});
    auto const owners = make_owners(size.trainers, size.trainers, size.trials);
    auto const start = std::chrono::steady_clock::now();
    auto const out = simulate(policy_named(policy), trials, owners);
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
    double const units = static_cast<double>(size.trainers) * size.trials * size.epochs;
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    std::printf("%-8s %6d trainers %6d trials %3d epochs: %6.2f us a decision, %7.1f s, %5.2f GB, busy %.4f, %.1f looks\n",
                policy.c_str(), size.trainers, size.trials, size.epochs, took.count() / units * 1e6, took.count(),
                static_cast<double>(usage.ru_maxrss) / 1e6, out.busy / (out.makespan * size.trainers),
                static_cast<double>(out.looks) / units);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 4) {
        measure(argv[1], {std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4])}, argc > 5 ? std::atof(argv[5]) : 0.5);
        return 0;
    }
    for (auto const policy : policy_names())
        for (int const trainers : {16, 64, 256}) measure(std::string(policy), {trainers, 4 * trainers, 2}, 0.5);
}
