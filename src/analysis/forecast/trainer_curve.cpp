// SPDX-License-Identifier: Apache-2.0
#include "analysis/forecast/trainer_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "schedule/in_flight.hpp"
#include "schedule/simulate.hpp"

namespace hopscotch {
namespace {

constexpr double k_most_units = 300'000;  // of one simulation

std::set<int> counts_of(CurveRequest const& request) {
    std::set<int> out(request.also.begin(), request.also.end());
    for (int count = 1; count <= request.shards; count *= 2) {
        out.insert(count);
        if (count >= 2 && count + count / 2 <= request.shards) out.insert(count + count / 2);
    }
    out.insert(request.shards);
    return out;
}

double makespan_on(CurveRequest const& request, int trainers, double units) {
    auto const owners = plan_owners({request.shards, std::ssize(request.trials),
                                     std::vector<double>(static_cast<std::size_t>(trainers), 1.0), request.owners});
    if (units > k_most_units) return owners_bound(request.policy, request.trials, owners);
    auto const in_flight = request.in_flight.value_or(usual_in_flight(trainers));
    return simulate(request.policy, request.trials, owners, {.in_flight = std::max<std::int64_t>(1, in_flight)}).makespan;
}

}  // namespace

std::vector<CurvePoint> trainer_curve(CurveRequest const& request) {
    double work = 0, units = 0;
    for (auto const& trial : request.trials) {
        work += trial.epochs * (request.shards * trial.unit + trial.validation);
        units += static_cast<double>(trial.epochs) * request.shards;
    }
    std::vector<CurvePoint> out;
    if (work <= 0) return out;
    for (int const trainers : counts_of(request)) {
        auto const makespan = makespan_on(request, trainers, units);
        out.push_back({trainers, makespan, work / makespan, work / makespan / trainers});
    }
    return out;
}

int trainers_worth(std::vector<CurvePoint> const& curve) {
    int out = 1;
    for (auto const& point : curve)
        if (point.busy >= k_worth_busy) out = std::max(out, point.trainers);
    return out;
}

std::string curve_text(std::vector<CurvePoint> const& curve, std::size_t columns) {
    std::string out = "trainers  speed-up   busy\n";
    double highest = 1;
    for (auto const& point : curve) highest = std::max(highest, point.speed_up);
    constexpr std::size_t k_numbers = 27;
    auto const room = static_cast<double>(columns > k_numbers + 10 ? std::min<std::size_t>(columns - k_numbers, 60) : 10);
    for (auto const& point : curve) {
        auto const bar = std::max(1.0, std::round(room * point.speed_up / highest));
        out += fmt::format("{:>8}  {:>8.2f}  {:>4.0f} % {}\n", point.trainers, point.speed_up, 100 * point.busy,
                           std::string(static_cast<std::size_t>(bar), '#'));
    }
    return out;
}

}  // namespace hopscotch
