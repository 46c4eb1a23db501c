// SPDX-License-Identifier: Apache-2.0
#include "schedule/in_flight.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "schedule/policy.hpp"
#include "schedule/simulate.hpp"

namespace hopscotch {
namespace {

constexpr double k_near = 1.01;   // of the bound
constexpr double k_same = 1.003;  // makespans that jitter alone could swap
constexpr double k_worth_replicas = 1.02;
constexpr int k_draws = 2;                                // of jitter: without any, too few in flight look as good as enough
constexpr std::int64_t k_most_simulated_units = 500'000;  // of one simulation: about half a second

class Trials {
public:
    Trials(Policy const& policy, std::span<TrialCost const> trials, OwnerTable const& owners)
        : policy_(policy), trials_(trials.begin(), trials.end()), owners_(owners) {
        for (auto& trial : trials_) {
            trial.epochs = std::min(trial.epochs, k_planned_laps);
            units_ += trial.epochs * std::ssize(owners_.owner);
        }
        mean_unit_ = mean_unit_cost(trials_);
        bound_ = owners_bound(policy_, trials_, owners_);
    }

    bool can_be_simulated() const { return units_ <= k_most_simulated_units && bound_ > 0; }

    double ratio(std::int64_t in_flight) const { return makespan(in_flight) / bound_; }
    double makespan(std::int64_t in_flight) const {
        double sum = 0;
        for (int draw = 0; draw < k_draws; ++draw)
            sum += simulate(policy_, trials_, owners_,
                            {in_flight, k_usual_hop * mean_unit_, k_usual_jitter, static_cast<std::uint64_t>(draw)})
                       .makespan;
        return sum / k_draws;
    }

private:
    Policy const& policy_;
    std::vector<TrialCost> trials_;
    OwnerTable const& owners_;
    double mean_unit_ = 0, bound_ = 0;
    std::int64_t units_ = 0;
};

}  // namespace

OwnerTable choose_owners(Policy const& policy, std::span<TrialCost const> trials, OwnersRequest const& request) {
    auto const shared = plan_owners(request);
    if (shared.replicas() == 0 || trials.empty()) return shared;
    auto asked = request;
    asked.by = OwnersBy::whole;
    auto const whole = plan_owners(asked);
    Trials const with_replicas(policy, trials, shared), without_any(policy, trials, whole);
    if (!with_replicas.can_be_simulated()) return shared;
    auto const in_flight = usual_in_flight(shared.trainers);
    auto const gain = without_any.makespan(in_flight) / with_replicas.makespan(in_flight);
    return gain > k_worth_replicas ? shared : whole;
}

InFlight choose_in_flight(Policy const& policy, std::span<TrialCost const> trials, OwnerTable const& owners,
                          InFlightRange range) {
    auto const usual = usual_in_flight(owners.trainers);
    auto const most = std::clamp<std::int64_t>(range.most, 1, std::max<std::int64_t>(1, std::ssize(trials)));
    Trials const simulated(policy, trials, owners);
    if (!simulated.can_be_simulated()) return {std::min(usual, range.most)};
    std::vector<std::pair<std::int64_t, double>> tried;
    double best = 0;
    for (auto n = std::clamp<std::int64_t>(range.least, 1, most);; n = std::min(most, 2 * n)) {
        tried.emplace_back(n, simulated.ratio(n));
        best = tried.size() == 1 ? tried.back().second : std::min(best, tried.back().second);
        if (n == most || tried.back().second <= k_near) break;
    }
    auto const limit = std::max(k_near, k_same * best);
    auto const found = std::ranges::find_if(tried, [&](auto const& each) { return each.second <= limit; });
    return {found->first, found->second, found->first > usual ? simulated.ratio(usual) : 0};
}

}  // namespace hopscotch
