// SPDX-License-Identifier: Apache-2.0
#include "job/owner_moves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/clock.hpp"
#include "direct/trial_view.hpp"
#include "job/earlier_jobs.hpp"
#include "job/plan_trials.hpp"
#include "job/prepared_run.hpp"
#include "job/run_owners.hpp"
#include "schedule/in_flight.hpp"
#include "schedule/policy.hpp"

namespace hopscotch {
namespace {

constexpr double k_roll_call_s = 0.25, k_regroup_s = 0.5;  // assumed costs until a move has been measured
constexpr double k_slow = 0.75;  // of the fastest. Cores that share a cache or a turbo differ by less; laps show the rest
constexpr double k_between_looks_s = 0.5;
constexpr double k_times_look = 50;  // a look that simulates takes rank 0's time: at most 2 % of it
constexpr int k_most_moves = 3;
constexpr int k_wishes = 2;  // looks, one after another, that want a move: a host may stand still for a moment

bool moves_owners(PreparedRun const& prepared) { return owners_by(prepared) != OwnersBy::equal; }

}  // namespace

OwnerMoves::OwnerMoves(PreparedRun const& prepared) : prepared_(prepared), since_unix_s_(unix_s()) {}

// known_laps: of the journal, which the director has not heard yet.
WorkLeft OwnerMoves::work_left(double seconds_per_flop, std::map<TrialId, int> const& known_laps) const {
    WorkLeft out;
    for (auto const& trial : prepared_.trials()) {
        if (has_ended(trial.status)) continue;
        auto const known = known_laps.find(trial.id);
        auto const done = std::max(trial.epochs_done, known == known_laps.end() ? 0 : known->second);
        auto const laps = std::max(0, trial.epochs_wanted - done);
        auto const seconds = seconds_per_flop * laps * prepared_.plan.shards * trial.unit_cost;
        out.seconds += seconds;
        out.longest = std::max(out.longest, seconds);
    }
    return out;
}

// Simulates only if the plan without a simulation would be better; the simulated table must be better, too.
std::optional<BetterOwners> OwnerMoves::better(std::vector<double> const& speed, WorkLeft const& left, double cost_s) const {
    auto const request = owners_request(prepared_, speed);
    auto const planned = better_owners(prepared_.fleet.owners, {plan_owners(request), cost_s}, speed, left);
    if (!planned) return std::nullopt;
    auto const trials = prepared_.plan.decides ? std::vector<TrialCost>() : costs_of(prepared_, prepared_.trials());
    auto const chosen = choose_owners(policy_named(prepared_.inputs.experiment.strategy.policy), trials, request);
    return better_owners(prepared_.fleet.owners, {chosen, cost_s}, speed, left);
}

std::optional<BetterOwners> OwnerMoves::after_roll_call(std::vector<double> speed) const {
    if (!moves_owners(prepared_)) return std::nullopt;
    if (speed.empty() || std::ranges::min(speed) <= 0) return std::nullopt;  // the laps will show it
    auto const fastest = std::ranges::max(speed);
    for (auto& each : speed) each /= fastest;
    auto const slow = [](double each) { return each > 0 && each < k_slow; };
    if (std::ranges::none_of(speed, slow)) return std::nullopt;
    auto const per_flop = prepared_.inputs.synthetic ? 1e-9 : 0.5 / fastest;  // a product is one addition more
    std::map<TrialId, int> known_laps;
    if (prepared_.inputs.earlier)
        for (auto const& lap : prepared_.inputs.earlier->journal.laps)
            known_laps[lap.trial] = std::max(known_laps[lap.trial], lap.epoch + 1);
    return better(speed, work_left(per_flop, known_laps), k_roll_call_s);
}

void OwnerMoves::hear(LapRecord const& lap) {
    if (moves_owners(prepared_)) pace_.add(lap, prepared_.trials()[lap.trial.index()].unit_cost, since_unix_s_);
}

std::optional<OwnersMove> OwnerMoves::look(double now_s) {
    if (now_s < next_look_s_ || moves_ == k_most_moves || !moves_owners(prepared_)) return std::nullopt;
    next_look_s_ = now_s + k_between_looks_s;
    double const began_s = monotonic_s();
    auto move = move_now();
    next_look_s_ += k_times_look * (monotonic_s() - began_s);
    wished_ = move ? wished_ + 1 : 0;
    if (wished_ < k_wishes) return std::nullopt;
    wished_ = 0;
    return move;
}

std::optional<OwnersMove> OwnerMoves::after_loss() const {
    if (!moves_owners(prepared_)) return std::nullopt;
    return move_now();
}

std::optional<OwnersMove> OwnerMoves::move_now() const {
    auto speed = pace_.speed(prepared_.fleet.trainers);
    if (!speed) return std::nullopt;
    for (auto const lost : prepared_.fleet.owners.lost) (*speed)[lost.index()] = 0;
    auto move = better(*speed, work_left(pace_.seconds(1, *speed)), std::max(k_regroup_s, cost_s_));
    if (!move) return std::nullopt;
    auto const text =
        fmt::format("shards move to other trainers, whose speeds are {}: the rest takes about {:.1f} s instead of {:.1f} s",
                    speeds_text(*speed), move->seconds, move->seconds_before);
    return OwnersMove{text, std::move(*move)};
}

void OwnerMoves::moves(double now_s) {
    ++moves_;
    moving_since_s_ = now_s;
}

void OwnerMoves::released(double now_s) {
    if (moving_since_s_) cost_s_ = std::max(cost_s_, now_s - *std::exchange(moving_since_s_, std::nullopt));
}

}  // namespace hopscotch
