// SPDX-License-Identifier: Apache-2.0
#include "strategy/check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "experiment/strategy_traits.hpp"
#include "strategy/baselines/parameter_server/parts.hpp"
#include "strategy/strategy_table.hpp"

namespace hopscotch {
namespace {

bool trains_in_a_group(std::string const& strategy) { return strategy_traits(strategy).training == Training::together; }

// Workers: trainers that own shards.
int workers_of(StrategyConfig const& config, int trainers, int shards) {
    return std::min(shards, trainers_with_data(config, trainers));
}

void check_batch(Experiment const& experiment, TrialConfig const& config, int workers, Problems& problems) {
    auto const& strategy = experiment.strategy;
    if (!trains_in_a_group(strategy.name)) workers = strategy.group_size;
    if (strategy.batch != GroupBatch::split) return;
    if (config.train.batch_size >= workers) return;
    problems.add(
        {}, "/train/batch_size",
        fmt::format("a batch of {} cannot be split among {} trainers (each needs a row at least); use a larger batch, fewer "
                    "trainers, or \"batch\": \"per_worker\" in strategy",
                    config.train.batch_size, workers));
}

void check_servers(StrategyConfig const& config, int trainers, int workers, Problems& problems) {
    bool const dedicated = config.server.placement == ServerPlacement::dedicated;
    auto const servers = servers_of(config, workers);
    if (dedicated && servers >= trainers)
        problems.add(
            {}, config.server.count > 0 ? "/strategy/servers" : "/strategy/placement",
            fmt::format("{} dedicated server{} leave{} none of {} trainer{} to train; start at least {} trainers, or use "
                        "\"placement\": \"colocated\"",
                        servers, servers == 1 ? "" : "s", servers == 1 ? "s" : "", trainers, trainers == 1 ? "" : "s",
                        servers + 1));
    if (!dedicated && servers > workers)
        problems.add(
            {}, "/strategy/servers",
            fmt::format(
                "{} servers do not fit on {} trainer{} with shards (colocated servers: at most one per trainer); use at "
                "most {}, or \"placement\": \"dedicated\"",
                servers, workers, workers == 1 ? "" : "s", workers));
    if (config.server.mode == ServerMode::backup && config.server.aggregate > workers)
        problems.add({}, "/strategy/aggregate",
                     fmt::format("a step cannot have {} gradients of {} worker{}; use at most {}", config.server.aggregate,
                                 workers, workers == 1 ? "" : "s", workers));
}

void check_update(StrategyConfig const& config, TrainConfig const& train, int workers, Problems& problems) {
    if (train.ema > 0)
        problems.add(
            {}, "/train/ema",
            "train.ema is not available with parameter_server (averaged weights would have to be kept and sent by the "
            "servers); use 0, or another strategy");
    if (train.clip.norm && servers_of(config, workers) > 1)
        problems.add({}, "/train/clip_norm",
                     fmt::format("train.clip_norm needs the whole gradient in one place ({} servers hold parts of it); use "
                                 "\"servers\": 1, train.clip_value, or strategy allreduce",
                                 servers_of(config, workers)));
}

// A rank that does not train cannot be slow.
void check_injection(InjectConfig const& inject, int trainers, Problems& problems) {
    for (auto const& slow : inject.slow)
        if (slow.rank > trainers)
            problems.add({}, "/run/inject",
                         fmt::format("rank {} does not train here (trainers are ranks 1 to {})", slow.rank, trainers));
}

// The shards must suffice, and a state must come by all of them.
void check_folds(Experiment const& experiment, int shards, Problems& problems) {
    auto const folds = experiment.search.copies.folds;
    if (folds == 1) return;
    if (experiment.strategy.group_size > 1)
        problems.add(
            {}, "/search/folds",
            "is not available with strategy.group_size (a shard held out would be a part of a bundle); leave one of "
            "them out");
    if (folds > shards)
        problems.add({}, "/search/folds",
                     fmt::format("{} parts cannot be made of {} shards (each needs one at least); use at most {}", folds,
                                 shards, shards));
    if (trains_in_a_group(experiment.strategy.name))
        problems.add({}, "/search/folds",
                     fmt::format("is not available with {} (it validates on shards that all trainers hold); use mop, "
                                 "task_parallel or sequential",
                                 experiment.strategy.name));
}

void check_statistics(Experiment const& experiment, TrialConfig const& config, Problems& problems) {
    bool const own = config.model.name == "plugin" || config.model.name == "torchscript";
    if (experiment.strategy.batch_norm != NormStatistics::sync || !own) return;
    problems.add({}, "/strategy/batch_norm",
                 "\"sync\" does not reach into a model of your own (its batch norm is torch's); use \"local\"");
}

}  // namespace

void check_strategy(Experiment const& experiment, TrialConfig const& config, int trainers, int shards, Problems& problems) {
    auto const workers = workers_of(experiment.strategy, trainers, shards);
    check_batch(experiment, config, workers, problems);
    check_injection(experiment.run.inject, trainers, problems);
    check_statistics(experiment, config, problems);
    check_folds(experiment, shards, problems);
    if (!has_setting(experiment.strategy.name, "servers")) return;
    check_servers(experiment.strategy, trainers, workers, problems);
    check_update(experiment.strategy, config.train, workers, problems);
}

}  // namespace hopscotch
