// SPDX-License-Identifier: Apache-2.0
#include "schedule/owners.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "core/error.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {
namespace {

// A point of [0, 1) for each lap, spread evenly over trials and over epochs (Weyl 1916): fractions of golden ratio and of
// the root of 2, in whole numbers, so that every machine computes the same. All shards of a lap have one point: then each
// trainer trains floor or ceil of its length of the line in every lap.
double point_of(std::int32_t trial, int epoch) {
    auto const n =
        static_cast<std::uint64_t>(trial) * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(epoch) * 0x6a09e667f3bcc909U;
    return static_cast<double>(n >> 11U) * 0x1p-53;
}

double sum_of(std::vector<double> const& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

double fastest_of(std::vector<double> const& speed) { return *std::ranges::max_element(speed); }

bool have_same_speed(std::vector<double> const& speed) {
    auto const most = fastest_of(speed);
    return std::ranges::all_of(speed, [&](double each) { return each * k_same_speed > most; });
}

// The ends of the trainers' pieces of the line: lengths in proportion to speed.
std::vector<double> cuts_of(OwnersRequest const& request) {
    constexpr double k_sliver = 0.02;  // of a shard, or of the trainer's piece if that is shorter: not worth a replica
    auto const total = sum_of(request.speed);
    std::vector<double> out;
    double before = 0, speeds = 0;
    for (auto const speed : request.speed) {
        auto end = request.shards * (speeds += speed) / total;
        if (std::abs(end - std::round(end)) < k_sliver * std::min(1.0, end - before)) end = std::round(end);
        if (speed > 0) before = end;  // else the piece is empty, also where the end before was rounded
        out.push_back(before);
    }
    return out;
}

// Each shard in turn goes to the trainer that would finish its shards first.
std::vector<double> whole_cuts_of(OwnersRequest const& request) {
    std::vector<int> counts(request.speed.size());
    for (int s = 0; s < request.shards; ++s) {
        std::size_t next = 0;
        double least = INFINITY;
        for (std::size_t w = 0; w < counts.size(); ++w)
            if (request.speed[w] > 0 && (counts[w] + 1) / request.speed[w] < least) {
                least = (counts[w] + 1) / request.speed[w];
                next = w;
            }
        ++counts[next];
    }
    std::vector<double> out;
    for (auto const count : counts) out.push_back((out.empty() ? 0 : out.back()) + count);
    return out;
}

// The trainers of each place on the line.
std::vector<std::vector<ShardShare>> places_of(std::vector<double> const& cuts, int shards) {
    std::vector<std::vector<ShardShare>> out(static_cast<std::size_t>(shards));
    double before = 0;
    for (std::size_t w = 0; w < cuts.size(); ++w) {
        auto const end = cuts[w];
        if (end <= before) continue;  // of no width: else it would hold the rest of a shard that was cut before
        for (auto p = static_cast<std::size_t>(before); static_cast<double>(p) < end && p < out.size(); ++p)
            out[p].push_back({TrainerId(w), std::min(1.0, end - static_cast<double>(p))});
        before = end;
    }
    for (auto& holders : out) holders.back().until = 1;
    return out;
}

// The shard of each place. With as many trials as shards neighbours stay together. Else they are dealt out: each trainer's
// places, and the shared places, are spread as evenly as their numbers allow.
std::vector<ShardId> line_of(std::vector<std::vector<ShardShare>> const& places, bool blocks) {
    std::vector<ShardId> out(places.size());
    std::map<TrainerId, std::vector<std::size_t>> left;  // places of one trainer; -1: shared ones
    std::map<TrainerId, double> all;
    for (auto p = places.size(); p-- > 0;)
        left[places[p].size() == 1 ? places[p].front().trainer : TrainerId()].push_back(p);
    for (auto const& [whose, mine] : left)
        all[whose] = static_cast<double>(mine.size()) / static_cast<double>(places.size());
    for (std::size_t s = 0; s < out.size(); ++s) {
        if (blocks) {
            out[s] = ShardId(s);
            continue;
        }
        auto const due = [&](auto const& entry) {
            auto const given =
                all[entry.first] * static_cast<double>(places.size()) - static_cast<double>(entry.second.size());
            return entry.second.empty() ? INFINITY : (given + 0.5) / all[entry.first];
        };
        auto& mine = std::ranges::min_element(left, {}, due)->second;
        out[mine.back()] = ShardId(s);
        mine.pop_back();
    }
    return out;
}

OwnerTable owners_from(std::vector<double> const& cuts, OwnersRequest const& request) {
    auto places = places_of(cuts, request.shards);
    auto const line = line_of(places, request.trials >= request.shards);
    OwnerTable out;
    out.trainers = static_cast<int>(request.speed.size());
    out.owner.resize(line.size());
    out.shares.resize(line.size());
    for (std::size_t p = 0; p < line.size(); ++p) {
        double from = 0, most = 0;
        for (auto const& [trainer, until] : places[p]) {
            if (until - from > most) out.owner[line[p].index()] = trainer;
            most = std::max(most, until - from);
            from = until;
        }
        if (places[p].size() > 1) out.shares[line[p].index()] = std::move(places[p]);
    }
    if (out.replicas() == 0) out.shares.clear();
    return out;
}

}  // namespace

TrainerId OwnerTable::trains(LapId const& lap, int step, ShardId shard) const {
    if (shares.empty() || shares[shard.index()].empty()) return of(shard);
    bool const at_home = step == 0 || step == static_cast<int>(owner.size());
    auto const point = at_home ? point_of(lap.trial.value / static_cast<std::int32_t>(owner.size()), 0)
                               : point_of(lap.trial.value, lap.epoch);
    for (auto const& [trainer, until] : shares[shard.index()])
        if (point < until) return trainer;
    return shares[shard.index()].back().trainer;
}

std::vector<ShardId> OwnerTable::shards_of(TrainerId trainer) const {
    std::vector<ShardId> out;
    for (std::size_t s = 0; s < owner.size(); ++s) {
        bool const shared = !shares.empty() && std::ranges::count(shares[s], trainer, &ShardShare::trainer) > 0;
        if (owner[s] == trainer || shared) out.emplace_back(s);
    }
    return out;
}

std::int64_t OwnerTable::replicas() const {
    std::int64_t out = 0;
    for (auto const& holders : shares) out += std::max<std::int64_t>(0, std::ssize(holders) - 1);
    return out;
}

std::vector<double> OwnerTable::loads() const {
    std::vector<double> out(static_cast<std::size_t>(trainers));
    for (std::size_t s = 0; s < owner.size(); ++s) {
        if (shares.empty() || shares[s].empty()) out[owner[s].index()] += 1;
        double from = 0;
        if (shares.empty()) continue;
        for (auto const& [trainer, until] : shares[s]) out[trainer.index()] += until - std::exchange(from, until);
    }
    return out;
}

OwnerTable make_owners(int shards, int trainers, std::int64_t trials) {
    require(shards >= 1, fmt::format("a dataset needs at least one shard (got {})", shards));
    require(trainers >= 1, fmt::format("a run needs at least one trainer (got {})", trainers));
    OwnerTable out;
    out.trainers = trainers;
    int const owning = std::min(shards, trainers);
    bool const blocks = trials >= shards;
    for (std::int64_t s = 0; s < shards; ++s) out.owner.emplace_back(blocks ? s * owning / shards : s % owning);
    return out;
}

OwnerTable plan_owners(OwnersRequest const& request) {
    auto const trainers = static_cast<int>(request.speed.size());
    auto out = make_owners(request.shards, trainers, request.trials);
    require(fastest_of(request.speed) > 0, "no trainer is left");
    if (request.by == OwnersBy::equal) return out;
    auto asked = request;
    bool const same = have_same_speed(request.speed);
    for (auto& each : asked.speed) each = same ? 1 : each / fastest_of(request.speed);
    if (!same) out = owners_from(whole_cuts_of(asked), asked);
    if (request.by == OwnersBy::shares && stretch(out, asked.speed) * k_whole_enough > 1)
        out = owners_from(cuts_of(asked), asked);
    if (!same) out.speed = asked.speed;
    return out;
}

OwnerTable with_members(OwnerTable const& of_groups, int group_size, int trainers) {
    auto out = of_groups;
    if (group_size == 1) return out;
    out.trainers = trainers;
    require(of_groups.replicas() == 0 && of_groups.speed.empty(), "groups of trainers hold whole bundles");
    out.owner.clear();
    for (auto const group : of_groups.owner)
        for (int k = 0; k < group_size; ++k) out.owner.emplace_back(group.value * group_size + k);
    return out;
}

OwnerTable of_groups(OwnerTable const& with_members, int group_size) {
    auto out = with_members;
    out.owner.clear();
    for (std::size_t s = 0; s < with_members.owner.size(); s += static_cast<std::size_t>(group_size))
        out.owner.push_back(with_members.owner[s]);
    if (group_size > 1) out.shares.clear();
    return out;
}

double stretch(OwnerTable const& table, std::vector<double> const& speed) {
    auto const loads = table.loads();
    double longest = 0;
    for (std::size_t w = 0; w < loads.size(); ++w)
        if (loads[w] > 0) longest = std::max(longest, loads[w] / speed[w]);
    return longest * sum_of(speed) / static_cast<double>(table.owner.size());
}

namespace {

// The rest of a shard's shares, in the same proportions.
void leave(std::vector<ShardShare>& holders, TrainerId lost) {
    double from = 0, sum = 0;
    std::vector<ShardShare> rest;
    for (auto const& [trainer, until] : holders) {
        auto const part = until - std::exchange(from, until);
        if (trainer != lost && part > 0) rest.push_back({trainer, sum += part});
    }
    for (auto& share : rest) share.until /= sum;
    if (!rest.empty()) rest.back().until = 1;
    holders = std::move(rest);
}

}  // namespace

OwnerTable without(OwnerTable table, TrainerId lost, std::vector<TrainerId> const& heirs) {
    require(!heirs.empty(), "no trainer is left");
    std::map<TrainerId, std::int64_t> shards;
    for (auto const heir : heirs) shards[heir] = std::ssize(table.shards_of(heir));
    for (std::size_t s = 0; s < table.owner.size(); ++s) {
        if (!table.shares.empty()) leave(table.shares[s], lost);
        if (table.owner[s] != lost) continue;
        if (!table.shares.empty() && !table.shares[s].empty()) {
            table.owner[s] = table.shares[s].front().trainer;
            continue;
        }
        auto const heir = std::ranges::min_element(shards, {}, [](auto const& entry) { return entry.second; });
        table.owner[s] = heir->first;
        ++heir->second;
    }
    for (auto& holders : table.shares)
        if (holders.size() == 1) holders.clear();
    table.lost.push_back(lost);
    table.trainers = std::max(table.trainers, shards.rbegin()->first.value + 1);
    if (!table.speed.empty()) table.speed.resize(static_cast<std::size_t>(table.trainers), 1);
    if (!table.speed.empty()) table.speed[lost.index()] = 0;
    ++table.version;
    return table;
}

}  // namespace hopscotch
