// SPDX-License-Identifier: Apache-2.0
#include "schedule/visit.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "experiment/config.hpp"
#include "schedule/lap.hpp"
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

std::int64_t hops_per_lap(Policy const& policy, LapId const& lap, OwnerTable const& owners, HeldOut const& held_out,
                          Route const& route) {
    int const shards = static_cast<int>(owners.owner.size());
    auto const trainer_at = [&](int step) {
        return owners.trains(lap, step, policy.next({lap.trial, step % shards, shards, held_out, route}));
    };
    std::int64_t hops = 0;
    for (int step = 0; step < shards; ++step)
        if (trainer_at(step) != trainer_at(step + 1)) ++hops;  // after the last step: home
    return hops;
}

std::int64_t hops_of(Policy const& policy, LapsOf const& trial, OwnerTable const& owners) {
    auto const of_lap = [&](std::int64_t epoch) {
        return hops_per_lap(policy, {trial.trial, static_cast<int>(epoch)}, owners, trial.held_out, trial.route);
    };
    if (owners.replicas() == 0) return trial.laps * of_lap(0);
    std::int64_t hops = 0;
    for (std::int64_t epoch = 0; epoch < trial.laps; ++epoch) hops += of_lap(epoch);
    return hops;
}

double lower_bound(std::vector<TrialCost> const& trials, OwnerTable const& owners) {
    double longest = 0, work = 0, speed = 0;
    for (auto const& trial : trials) {
        auto const alone = trial.epochs * (static_cast<double>(owners.owner.size()) * trial.unit + trial.validation);
        longest = std::max(longest, alone);
        work += alone;
    }
    for (int w = 0; w < owners.trainers; ++w)
        if (std::ranges::count(owners.lost, TrainerId(w)) == 0) speed += owners.speed_of(TrainerId(w));
    return std::max(longest, work / speed);
}

double owners_bound(Policy const& policy, std::vector<TrialCost> const& trials, OwnerTable const& owners) {
    int const shards = static_cast<int>(owners.owner.size());
    auto load = owners.loads();
    double units = 0;  // of every trial on one shard
    for (auto const& trial : trials) units += trial.epochs * trial.unit;
    for (auto& each : load) each *= units;
    for (auto const& trial : trials) {
        auto const first = policy.next({trial.trial, 0, shards, {}, trial.route});
        load[owners.trains({trial.trial, 0}, 0, first).index()] += trial.epochs * trial.validation;
    }
    auto bound = lower_bound(trials, owners);
    for (std::size_t w = 0; w < load.size(); ++w)
        if (load[w] > 0) bound = std::max(bound, load[w] / owners.speed_of(TrainerId(w)));
    return bound;
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
