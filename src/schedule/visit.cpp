// SPDX-License-Identifier: Apache-2.0
#include "schedule/visit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/error.hpp"
#include "experiment/config.hpp"
#include "schedule/policy.hpp"

namespace hopscotch {

HeldOut held_out_of(Assignment const& assignment, int folds) {
    for (auto const& [path, value] : assignment)
        if (path == k_fold_entry) return {static_cast<int>(value.integer()), folds};
    return {};
}

ShardId planned_shard(TrialId trial, int step, int shards, HeldOut const& held_out, Route const& route) {
    std::int64_t const first = (route.first.value < 0 ? trial.value : route.first.value) % shards;
    bool const forward = route.direction == Direction::forward;
    auto const around = [&](int k) { return ShardId((first + (forward ? k % shards : shards - k % shards)) % shards); };
    if (held_out.folds == 1) return around(step);
    int left = step;
    for (bool const held : {false, true})
        for (int k = 0; k < shards; ++k)
            if (held_out.has(around(k)) == held && left-- == 0) return around(k);
    throw Error(fmt::format("step {} of a lap (there are {} shards)", step, shards));
}

std::vector<ShardId> OwnerTable::shards_of(TrainerId trainer) const {
    std::vector<ShardId> out;
    for (std::size_t s = 0; s < owner.size(); ++s)
        if (owner[s] == trainer) out.emplace_back(s);
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

OwnerTable without(OwnerTable table, TrainerId lost, std::vector<TrainerId> const& heirs) {
    require(!heirs.empty(), "no trainer is left");
    std::map<TrainerId, int> shards;
    for (auto const heir : heirs) shards[heir] = static_cast<int>(std::ranges::count(table.owner, heir));
    for (auto& trainer : table.owner) {
        if (trainer != lost) continue;
        auto const heir = std::ranges::min_element(shards, {}, [](auto const& entry) { return entry.second; });
        trainer = heir->first;
        ++heir->second;
    }
    table.lost.push_back(lost);
    table.trainers = std::max(table.trainers, shards.rbegin()->first.value + 1);
    ++table.version;
    return table;
}

std::int64_t hops_per_lap(Policy const& policy, TrialId trial, OwnerTable const& owners, HeldOut const& held_out,
                          Route const& route) {
    int const shards = static_cast<int>(owners.owner.size());
    auto const owner_at = [&](int step) { return owners.of(policy.next({trial, step % shards, shards, held_out, route})); };
    std::int64_t hops = 0;
    for (int step = 0; step < shards; ++step)
        if (owner_at(step) != owner_at(step + 1)) ++hops;  // after the last step: home
    return hops;
}

double lower_bound(Policy const& policy, std::vector<TrialCost> const& trials, OwnerTable const& owners) {
    int const shards = static_cast<int>(owners.owner.size());
    std::vector<double> load(static_cast<std::size_t>(owners.trainers), 0.0);
    double longest = 0;
    double units = 0;  // of every trial on one shard
    for (auto const& trial : trials) {
        longest = std::max(longest, trial.epochs * (shards * trial.unit + trial.validation));
        units += trial.epochs * trial.unit;
        load[owners.of(policy.next({trial.trial, 0, shards, {}, trial.route})).index()] += trial.epochs * trial.validation;
    }
    for (auto owner : owners.owner) load[owner.index()] += units;
    return std::max(longest, *std::max_element(load.begin(), load.end()));
}

double shard_utilisation(int shards, int trainers) {
    int const most = (shards + trainers - 1) / trainers;
    return static_cast<double>(shards) / trainers / most;
}

namespace {

std::string list_of(std::vector<int> const& numbers) {
    std::string out;
    for (std::size_t i = 0; i < numbers.size(); ++i)
        out += fmt::format("{}{}", i == 0 ? "" : i + 1 == numbers.size() ? " or " : ", ", numbers[i]);
    return out;
}

}  // namespace

std::string shard_advice(int shards, int trainers) {
    if (shards % trainers == 0) return "";
    std::vector<int> counts;
    for (int w = 1; w <= shards; ++w)
        if (shards % w == 0) counts.push_back(w);
    int const first = std::max(1, shards / trainers) * trainers;
    auto const fit = fmt::format("use {} trainer{}, or import with {} shards", list_of(counts),
                                 counts.back() == 1 ? "" : "s", list_of({first, first + trainers, first + 2 * trainers}));
    if (trainers > shards) {
        bool const one = trainers == shards + 1;
        auto const idle = one ? fmt::format("trainer {} (rank {})", shards, shards + 1)
                              : fmt::format("trainers {}-{} (ranks {}-{})", shards, trainers - 1, shards + 1, trainers);
        return fmt::format("{} trainers but {} shard{}: {} will be idle ({:.0f} % busy in all): {}", trainers, shards,
                           shards == 1 ? "" : "s", idle, 100 * shard_utilisation(shards, trainers), fit);
    }
    int const fewest = shards / trainers;
    return fmt::format("{} shards on {} trainers keep them {:.0f} % busy (some own {} shards, some {}): {}", shards,
                       trainers, 100 * shard_utilisation(shards, trainers), fewest + 1, fewest, fit);
}

}  // namespace hopscotch
