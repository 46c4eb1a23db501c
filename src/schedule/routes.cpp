// SPDX-License-Identifier: Apache-2.0
#include "schedule/routes.hpp"

#include <algorithm>

#include "core/rng.hpp"
#include "schedule/in_flight.hpp"
#include "schedule/policy.hpp"
#include "schedule/simulate.hpp"

namespace hopscotch {
namespace {

constexpr int k_permutations = 4;
constexpr double k_may_lose = 1.01, k_must_gain = 0.995;
constexpr std::int64_t k_most_compared = 400'000;  // of one simulation of all numbers of trainers: a tenth of a second

std::vector<ShardId> permutation_of(std::int64_t seed, int number, std::int64_t block, int shards) {
    std::vector<ShardId> out;
    for (int s = 0; s < shards; ++s) out.emplace_back(s);
    Rng rng(stream_key(static_cast<std::uint64_t>(seed), Purpose::homes, {number, block}));
    rng.shuffle(std::span(out));
    return out;
}

// All numbers of trainers for a small dataset, and the fitting ones for a large one. With one trainer routes make no
// difference.
std::vector<int> numbers_of_trainers(int shards) {
    std::vector<int> out;
    for (int w = 2; w <= shards; ++w)
        if (shards <= 16 || shards % w == 0) out.push_back(w);
    return out;
}

// Compares plans by their makespans with every number of trainers.
class Comparison {
public:
    Comparison(Policy const& policy, std::span<TrialCost const> trials, int shards, std::int64_t seed)
        : policy_(policy),
          trials_(trials.begin(), trials.end()),
          shards_(shards),
          seed_(seed),
          trainers_(numbers_of_trainers(shards)) {
        for (auto& trial : trials_) trial.epochs = std::min(trial.epochs, k_planned_laps);
        in_order_ = makespans({});
    }

    // Relative to homes in order and no long trials: for the worst number of trainers, and their mean.
    struct Ratio {
        double worst = 0, mean = 0;
        // Some number of trainers loses more than the others gain on average.
        bool loses() const { return worst - k_may_lose > 1 - mean; }
    };
    Ratio ratio(RoutePlan const& plan) const {
        Ratio out;
        auto const found = makespans(plan);
        for (std::size_t i = 0; i < found.size(); ++i) {
            double const each = found[i] / in_order_[i];
            out.worst = std::max(out.worst, each);
            out.mean += each / static_cast<double>(found.size());
        }
        return out;
    }

private:
    std::vector<double> makespans(RoutePlan const& plan) const {
        auto const trials = with_routes(trials_, plan, shards_, seed_);
        double const hop = k_usual_hop * mean_unit_cost(trials);
        std::vector<double> out;
        for (int const w : trainers_) {
            auto const owners = make_owners(shards_, w, std::ssize(trials));
            out.push_back(simulate(policy_, trials, owners, {.in_flight = usual_in_flight(w), .hop = hop}).makespan);
        }
        return out;
    }

    Policy const& policy_;
    std::vector<TrialCost> trials_;
    int shards_;
    std::int64_t seed_;
    std::vector<int> trainers_;
    std::vector<double> in_order_;
};

// Costs of 0 cannot be compared.
bool can_be_simulated(std::span<TrialCost const> trials, int shards) {
    std::int64_t units = 0;
    for (auto const& trial : trials) units += static_cast<std::int64_t>(std::min(trial.epochs, k_planned_laps)) * shards;
    units *= std::ssize(numbers_of_trainers(shards));
    return units > 0 && units <= k_most_compared && mean_unit_cost(trials) > 0;
}

}  // namespace

Route Routes::of(TrialId trial, double unit_cost, double mean) {
    Route out;
    if (plan_.permutation >= 0) {
        auto const block = trial.index() / static_cast<std::size_t>(shards_);
        while (homes_.size() <= block)
            homes_.push_back(permutation_of(seed_, plan_.permutation, std::ssize(homes_), shards_));
        out.first = homes_[block][trial.index() % static_cast<std::size_t>(shards_)];
    }
    if (plan_.long_from > 0 && mean > 0 && unit_cost > plan_.long_from * mean) out.direction = Direction::backward;
    return out;
}

std::vector<TrialCost> with_routes(std::span<TrialCost const> trials, RoutePlan const& plan, int shards, std::int64_t seed) {
    std::vector<TrialCost> out(trials.begin(), trials.end());
    Routes routes(plan, seed, shards);
    double const mean = mean_unit_cost(trials);
    for (auto& trial : out) trial.route = routes.of(trial.trial, trial.unit, mean);
    return out;
}

RoutePlan plan_routes(Policy const& policy, std::span<TrialCost const> trials, int shards, std::int64_t seed) {
    if (!can_be_simulated(trials, shards)) return k_blind_routes;
    Comparison const comparison(policy, trials, shards, seed);
    RoutePlan best;
    double mean = 1;
    for (int number = 0; number < k_permutations && best.permutation < 0; ++number) {
        auto const ratio = comparison.ratio({number, 0});
        if (ratio.loses()) continue;
        best.permutation = number;
        mean = ratio.mean;
    }
    double const longest = std::ranges::max(trials, {}, &TrialCost::unit).unit / mean_unit_cost(trials);
    for (double const from : {k_blind_routes.long_from, k_blind_routes.long_from / 2}) {
        auto const ratio = longest > from ? comparison.ratio({best.permutation, from}) : Comparison::Ratio{2, 2};
        if (ratio.loses() || ratio.mean > mean * k_must_gain) continue;
        best.long_from = from;
        mean = ratio.mean;
    }
    return best;
}

}  // namespace hopscotch
