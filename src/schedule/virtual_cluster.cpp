// SPDX-License-Identifier: Apache-2.0
#include "schedule/virtual_cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.hpp"
#include "schedule/matchmaker.hpp"

namespace hopscotch {

VirtualCluster::VirtualCluster(Policy const& policy, OwnerTable owners, Cost cost, ClusterOptions options)
    : policy_(policy),
      owners_(std::move(owners)),
      shards_(static_cast<int>(owners_.owner.size())),
      cost_(std::move(cost)),
      options_(std::move(options)),
      matches_(policy.dispatched() ? policy.make(owners_, options_.seed) : nullptr),
      queues_(static_cast<std::size_t>(owners_.trainers)),
      runs_(static_cast<std::size_t>(owners_.trainers), 0) {}

VirtualCluster::~VirtualCluster() = default;

VirtualCluster::Key VirtualCluster::key(Place const& place) const {
    auto const& lap = place.lap;
    bool const by_units = options_.rule == QueueRule::by_units;
    double const left = by_units ? lap.remaining - place.step * lap.unit : lap.remaining;
    return {place.step == shards_ ? 0 : 1, lap.release, -left, by_units ? place.came : 0, lap.id.trial};
}

TrainerId VirtualCluster::planned_trainer(VirtualLap const& lap, int step) const {
    return owners_.trains(lap.id, step, policy_.next({lap.id.trial, step % shards_, shards_, {}, lap.route}));
}

void VirtualCluster::go_to(Place& place, TrainerId trainer) {
    place.hops = options_.hop > 0 && place.trainer != trainer;
    place.trainer = trainer;
    if (!place.hops) return;
    place.ends = now_ + options_.hop;
    ends_.emplace(*place.ends, place.lap.id.trial);
}

void VirtualCluster::enqueue(Place& place) {
    place.came = arrivals_++;
    queues_[place.trainer.index()].insert(key(place));
    changed_.insert(place.trainer);
}

void VirtualCluster::add(VirtualLap const& lap) {
    auto const [at, is_new] = laps_.try_emplace(lap.id.trial, Place{lap});
    require(is_new, [&] { return fmt::format("trial {} has a lap on the virtual cluster already", lap.id.trial.value); });
    auto& place = at->second;
    place.home = place.trainer = planned_trainer(lap, 0);
    if (matches_ == nullptr) return enqueue(place);
    matches_->add({lap.id, lap.remaining, lap.unit, place.home, lap.route});
}

// A trainer that validates takes no unit, and a barrier waits for the laps that will follow.
void VirtualCluster::count_validation(Place const& place, int change) {
    if (matches_ == nullptr) return;
    validating_ += change;
    matches_->expect(validating_);
    if (change > 0)
        matches_->validates(place.home);
    else
        matches_->has_validated(place.home);
}

void VirtualCluster::take_matches() {
    for (auto const& match : matches_->take(now_)) {
        auto& place = laps_.at(match.trial);
        go_to(place, match.trainer);
        if (!place.hops) enqueue(place);
    }
}

void VirtualCluster::remove(TrialId trial) {
    auto const found = laps_.find(trial);
    if (found == laps_.end()) return;
    auto const& place = found->second;
    if (place.ends)
        ends_.erase({*place.ends, trial});
    else
        queues_[place.trainer.index()].erase(key(place));
    if (place.ends && !place.hops) {
        runs_[place.trainer.index()] = 0;
        changed_.insert(place.trainer);
    }
    if (matches_ != nullptr) {
        matches_->remove(trial);
        if (place.step == shards_ && !is_over(place)) count_validation(place, -1);
    }
    laps_.erase(found);
}

void VirtualCluster::start_ready() {
    if (matches_ != nullptr) take_matches();
    for (auto const trainer : changed_) {
        auto const t = trainer.index();
        if (runs_[t] != 0 || queues_[t].empty()) continue;
        auto& place = laps_.at(std::get<TrialId>(*queues_[t].begin()));
        queues_[t].erase(queues_[t].begin());
        double const cost = cost_(place.lap.id, place.step) / speed_of(trainer);
        require(std::isfinite(cost) && cost >= 0,
                [&] { return fmt::format("a unit of trial {} costs {}", place.lap.id.trial.value, cost); });
        if (options_.on_task)
            options_.on_task({place.lap.id.trial, place.lap.id.epoch, place.step, trainer, now_, now_ + cost});
        place.ends = now_ + cost;
        ends_.emplace(*place.ends, place.lap.id.trial);
        runs_[t] = 1;
        busy_ += cost;
    }
    changed_.clear();
}

std::optional<double> VirtualCluster::next_end() const {
    return ends_.empty() ? std::nullopt : std::optional(ends_.begin()->first);
}

bool VirtualCluster::is_over(Place const& place) const {
    return place.step > shards_ || (place.step == shards_ && cost_(place.lap.id, shards_) == 0);
}

// True if that was the last of its lap. Else the state is on its way, or it waits for a match, or at its next trainer.
bool VirtualCluster::end_task(Place& place) {
    runs_[place.trainer.index()] = 0;
    changed_.insert(place.trainer);
    if (++place.step > shards_) {
        count_validation(place, -1);
        return true;
    }
    if (matches_ != nullptr && !matches_->unit_ended(place.lap.id.trial)) return false;
    bool const home = place.step == shards_, over = home && is_over(place);
    if (over && options_.hop == 0) return true;
    if (home && !over) count_validation(place, 1);
    go_to(place, home ? place.home : planned_trainer(place.lap, place.step));
    if (!place.hops && !over) enqueue(place);
    return over && !place.hops;
}

// Of a task or a hop. True if that was the last of its lap.
bool VirtualCluster::end_event(Place& place) {
    place.ends.reset();
    if (!std::exchange(place.hops, false)) return end_task(place);
    if (is_over(place)) return true;
    enqueue(place);
    return false;
}

std::vector<LapId> VirtualCluster::run_until(double time) {
    now_ = std::max(now_, time);
    std::vector<LapId> over;
    while (!ends_.empty() && ends_.begin()->first <= now_) {
        auto const trial = ends_.begin()->second;
        ends_.erase(ends_.begin());
        auto const found = laps_.find(trial);
        if (!end_event(found->second)) continue;
        over.push_back(found->second.lap.id);
        laps_.erase(found);
    }
    std::ranges::sort(over);
    return over;
}

}  // namespace hopscotch
