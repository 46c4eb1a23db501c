// SPDX-License-Identifier: Apache-2.0
#include "schedule/matchmaker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr int k_bits = 64;

bool has_bit(std::vector<std::uint64_t> const& bits, int at) {
    return (bits[static_cast<std::size_t>(at / k_bits)] >> (at % k_bits) & 1) != 0;
}

// The first zero bit in [from, until), or `until`.
int first_zero(std::vector<std::uint64_t> const& bits, int from, int until) {
    for (int at = from; at < until; at = (at / k_bits + 1) * k_bits) {
        auto const zeros = ~bits[static_cast<std::size_t>(at / k_bits)] >> (at % k_bits);
        if (zeros != 0) return std::min(until, at + std::countr_zero(zeros));
    }
    return until;
}

}  // namespace

Matchmaker::Matchmaker(OwnerTable const& owners)
    : owners_(owners), owned_(static_cast<std::size_t>(owners.trainers)), loads_(owned_.size()), busy_(owned_.size()) {
    for (int s = 0; s < shards(); ++s) owned_[owner(ShardId(s)).index()].emplace_back(s);
    for (std::size_t t = 0; t < owned_.size(); ++t)
        if (!owned_[t].empty()) freed_.insert(TrainerId(t));
}

bool Matchmaker::is_open(Entry const& entry, ShardId shard) const {
    auto const& lap = entry.lap;
    if (lap.bound.value >= 0) return shard == lap.bound;
    if (has_bit(entry.visited, shard.value)) return false;
    // Those held out come last, in the order of their route: a checkpoint has no list of them.
    return !lap.held_out.has(shard) || planned_shard(lap.id.trial, entry.steps, shards(), lap.held_out, lap.route) == shard;
}

ShardId Matchmaker::next_after(Entry const& entry, ShardId last) const {
    auto const& lap = entry.lap;
    if (entry.steps == shards()) return {};
    if (lap.bound.value >= 0) return lap.bound;
    if (lap.held_out.folds > 1) {
        for (int k = 1; k <= shards(); ++k)
            if (ShardId const shard((last.value + k) % shards()); is_open(entry, shard)) return shard;
        return {};
    }
    int const found = first_zero(entry.visited, last.value + 1, shards());
    return ShardId(found < shards() ? found : first_zero(entry.visited, 0, shards()));
}

std::optional<ShardId> Matchmaker::open_shard(Entry const& entry, TrainerId trainer) {
    ++looks_;
    if (entry.next.value >= 0 && owner(entry.next) == trainer) return entry.next;
    for (auto const shard : owned_[trainer.index()])
        if (is_open(entry, shard)) return shard;
    return std::nullopt;
}

void Matchmaker::visit(Entry& entry, ShardId shard) {
    auto& word = entry.visited[shard.index() / k_bits];
    word |= std::uint64_t{1} << (shard.index() % k_bits);
    ++entry.steps;
    auto const& repeats = entry.lap.repeats;
    auto const step = static_cast<std::size_t>(entry.steps);
    entry.lap.bound = step < repeats.size() ? repeats[step] : ShardId();
}

void Matchmaker::add_load(Entry const& entry, double cost, int units) {
    for (int s = first_zero(entry.visited, 0, shards()); s < shards(); s = first_zero(entry.visited, s + 1, shards())) {
        auto& load = loads_[owner(ShardId(s)).index()];
        load.cost += cost;
        load.units += units;
    }
}

void Matchmaker::add(WaitingLap const& lap) {
    remove(lap.id.trial);
    auto& entry = laps_[lap.id.trial];
    entry.lap = lap;
    entry.visited.assign(static_cast<std::size_t>(shards() + k_bits - 1) / k_bits, 0);
    for (auto const shard : lap.visited) visit(entry, shard);
    require(entry.steps < shards(), [&] { return fmt::format("a lap of trial {} has no shard left", lap.id.trial.value); });
    if (lap.bound.value >= 0)
        entry.lap.bound = lap.bound;
    else if (entry.steps == 0 && !lap.repeats.empty())
        entry.lap.bound = lap.repeats.front();
    auto const first = planned_shard(lap.id.trial, 0, shards(), lap.held_out, lap.route);
    entry.next = next_after(entry, lap.visited.empty() ? ShardId(first.value - 1) : lap.visited.back());
    add_load(entry, lap.unit, 1);
    list(entry);
    fresh_.push_back(lap.id.trial);
}

bool Matchmaker::unit_ended(TrialId trial) {
    auto& ended = entry(trial);
    require(ended.match.has_value(), [&] { return fmt::format("trial {} waits, and ends a unit", trial.value); });
    auto const trainer = ended.match->trainer;
    unlist(ended);
    ended.match.reset();
    free(trainer);
    unit_over(ended.lap.id);
    if (ended.steps == shards()) {
        laps_.erase(trial);
        return true;
    }
    list(ended);
    fresh_.push_back(trial);
    return false;
}

void Matchmaker::remove(TrialId trial) {
    auto const found = laps_.find(trial);
    if (found == laps_.end()) return;
    auto& entry = found->second;
    unlist(entry);
    if (entry.match) free(entry.match->trainer);
    add_load(entry, -entry.lap.unit, -1);
    unit_over(entry.lap.id);
    laps_.erase(found);
    ask_all_ = true;  // other trainers may have waited for it
}

void Matchmaker::set_cost(TrialId trial, double remaining, double unit) {
    auto& changed = entry(trial);
    unlist(changed);
    add_load(changed, unit - changed.lap.unit, 0);
    changed.lap.remaining = remaining;
    changed.lap.unit = unit;
    list(changed);
}

void Matchmaker::free(TrainerId trainer) {
    if (--busy_[trainer.index()] == 0) freed_.insert(trainer);
}

void Matchmaker::occupy(TrainerId trainer) {
    ++busy_[trainer.index()];
    freed_.erase(trainer);
    hungry_.erase(trainer);
    patient_.erase(trainer);
}

void Matchmaker::validates(TrainerId trainer) { occupy(trainer); }
void Matchmaker::has_validated(TrainerId trainer) { free(trainer); }

// Trainers that have become free, and trainers that may take a trial that has just come.
std::vector<TrainerId> Matchmaker::asked() {
    std::vector<TrainerId> out(freed_.begin(), freed_.end());
    for (auto const trainer : hungry_) {
        auto const may_take = [&](TrialId trial) {
            auto const found = laps_.find(trial);
            return found != laps_.end() && asks_for(found->second, trainer);
        };
        if (ask_all_ || std::ranges::any_of(fresh_, may_take)) out.push_back(trainer);
    }
    ask_all_ = false;
    fresh_.clear();
    return out;
}

Match Matchmaker::start(Choice const& choice, TrainerId trainer, double now) {
    auto& entry = *choice.entry;
    unlist(entry);
    auto& load = loads_[trainer.index()];
    load.cost -= entry.lap.unit;
    --load.units;
    entry.match = Match{entry.lap.id.trial, choice.shard, trainer};
    entry.lap.remaining -= entry.lap.unit;
    entry.began = now;
    visit(entry, choice.shard);
    entry.next = next_after(entry, choice.shard);
    list(entry);
    occupy(trainer);
    return *entry.match;
}

bool Matchmaker::ask_the_patient() {
    for (auto const trainer : patient_) hungry_.erase(trainer);
    freed_.merge(patient_);
    patient_.clear();
    return !freed_.empty();
}

std::vector<Match> Matchmaker::take(double now) {
    std::vector<Match> out;
    if (freed_.empty() && fresh_.empty() && !ask_all_ && !fewer_) return out;
    fewer_ = false;
    prepare();
    auto trainers = asked();
    sort(trainers);
    for (auto const trainer : trainers) {
        if (auto const choice = choose(trainer, now)) {
            out.push_back(start(*choice, trainer, now));
        } else {
            freed_.erase(trainer);
            hungry_.insert(trainer);
        }
    }
    return out;
}

}  // namespace hopscotch
