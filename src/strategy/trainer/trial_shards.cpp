// SPDX-License-Identifier: Apache-2.0
// The shards of a trainer, and the order in which a trial visits them: the third source of trial_runner.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/error.hpp"
#include "core/file.hpp"
#include "core/hash.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/shard.hpp"
#include "data/dataset/stage.hpp"
#include "model/gpu/device.hpp"
#include "model/trial/evaluation.hpp"
#include "model/trial/workspace.hpp"
#include "schedule/lap.hpp"
#include "schedule/policy.hpp"
#include "schedule/visit.hpp"
#include "strategy/common/journey.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {

TrialRunner::TrialRunner(Experiment experiment, std::vector<ShardId> const& shards, Seat seat, ModelFactory factory)
    : experiment_(std::move(experiment)),
      policy_(policy_named(experiment_.strategy.policy)),
      seat_(seat),
      factory_(std::move(factory)),
      manifest_(read_manifest(experiment_.data.path)),
      device_(resolve_device(experiment_.run.device, seat.number_on_host)),
      workspace_(std::make_unique<Workspace>(device_, experiment_.run.cpu.threads, gpu_mode(experiment_.run))) {
    workspace_->limit_features(seat.feature_memory);
    adopt(shards);
}

TrialRunner::~TrialRunner() = default;

void TrialRunner::adopt(std::vector<ShardId> const& shards) {
    trials_.clear();  // they may point to sources that are removed
    validations_.clear();
    std::erase_if(train_, [&](auto const& entry) { return std::ranges::find(shards, entry.first) == shards.end(); });
    for (auto const shard : shards) {
        if (train_.contains(shard)) continue;
        train_.emplace(shard, open(manifest_.train.at(shard.index()), NeededBy::this_trainer));
    }
    if (!shards.empty()) open_validation();  // an idle trainer does not validate either
}

std::unique_ptr<ShardSource> TrialRunner::open(ShardFile const& file, NeededBy whom) const {
    auto const& data = experiment_.data;
    if (!data.stage.empty())
        return open_shard_source(stage_file(data.path, file, manifest_, data.stage), file, manifest_, data, whom);
    auto source = open_shard_source(data.path, file, manifest_, data, whom);
    if (data.cache != Cache::all) return source;
    // The whole file has just been read, so its hash costs little.
    auto const path = std::filesystem::path(data.path) / file.file;
    if (auto const hash = hash_file(path); hash != file.xxh64)
        throw DataError(fmt::format(
            "{}: is not the file that dataset.json describes (its hash is {} instead of {}); restore it, or import the "
            "dataset again",
            path.string(), to_hex(hash), to_hex(file.xxh64)));
    return source;
}

void TrialRunner::open_validation() {
    if (!valid_.empty()) return;
    if (experiment_.search.copies.folds == 1)
        for (auto const& file : manifest_.valid) valid_.push_back(open(file, NeededBy::all_trainers));
    // The test shards are read at the very end. A missing one is reported now.
    for (auto const& file : manifest_.test) check_shard(experiment_.data.path, file, manifest_);
}

ShardId TrialRunner::shard_of(Journey const& journey) const {
    if (journey.shard.value >= 0) return journey.shard;
    auto const& lap = journey.lap;
    auto const next = policy_.next({lap.trial, journey.step, visits(), held_out(lap), lap.route});
    return ShardId(next.value * experiment_.strategy.group_size);
}

HeldOut TrialRunner::held_out(Lap const& lap) const { return held_out_of(lap.assignment, experiment_.search.copies.folds); }

void TrialRunner::set_shard(ShardId shard, std::unique_ptr<ShardSource> source) { train_[shard] = std::move(source); }

void TrialRunner::forget(TrialId trial) {
    trials_.erase(trial);
    validations_.erase(trial);
}

}  // namespace hopscotch
