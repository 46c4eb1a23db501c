// SPDX-License-Identifier: Apache-2.0
// Simulates schedules with the queues, policies and owners of the product. An instance is a line of standard input:
//   POLICY SEED EPOCHS HOP TRAINERS SPEED... TRIALS COST...
// COST: seconds of a trial's unit at speed 1. HOP: seconds of a state on its way. One shard for each trainer, all trials
// in flight, no validation. Prints for each line the makespan, the seconds that trainers are busy, and the seconds that plan
// and simulation took.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "schedule/policy.hpp"
#include "schedule/routes.hpp"
#include "schedule/simulate.hpp"

namespace {

using namespace hopscotch;

std::vector<double> read_numbers(std::istream& in) {
    std::size_t count = 0;
    in >> count;
    std::vector<double> out;
    for (double value = 0; out.size() < count && in >> value;) out.push_back(value);
    if (out.size() != count || out.empty()) throw ConfigError("the line ends too early (numbers are missing)");
    return out;
}

void simulate_line(std::string const& line) {
    std::istringstream in(line);
    std::string policy;
    SimulationOptions options;
    int epochs = 0;
    in >> policy >> options.seed >> epochs >> options.hop;
    options.speed = read_numbers(in);
    auto const costs = read_numbers(in);
    std::vector<TrialCost> trials;
    for (double const cost : costs) trials.push_back({TrialId(static_cast<std::int64_t>(trials.size())), cost, 0, epochs});
    int const trainers = static_cast<int>(options.speed.size());
    auto const owners = make_owners(trainers, trainers, static_cast<std::int64_t>(trials.size()));
    auto const start = std::chrono::steady_clock::now();
    auto const& chosen = policy_named(policy);
    auto const seed = static_cast<std::int64_t>(options.seed);
    trials = with_routes(trials, plan_routes(chosen, trials, trainers, seed), trainers, seed);  // as `visits` balanced
    auto const out = simulate(chosen, trials, owners, options);
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - start;
    std::printf("%.9g %.9g %.3g\n", out.makespan, out.busy, took.count());
}

}  // namespace

int main() {
    try {
        for (std::string line; std::getline(std::cin, line);) simulate_line(line);
    } catch (std::exception const& error) {
        std::cerr << "evidence_simulate: " << error.what() << "\n";
        return 2;
    }
    return 0;
}
