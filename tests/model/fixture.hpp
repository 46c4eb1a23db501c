// SPDX-License-Identifier: Apache-2.0
// What the model tests share: made-up shards, aligned state blocks, and a trial of any model on them.
#pragma once
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>

#include "core/byte_view.hpp"
#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "core/rng.hpp"
#include "data/batches/batches.hpp"
#include "data/batches/shard_source.hpp"
#include "data/dataset/data_schema.hpp"
#include "data/dataset/shard.hpp"
#include "experiment/config.hpp"
#include "model/state/state.hpp"
#include "model/trial/evaluation.hpp"
#include "model/trial/evaluator.hpp"
#include "model/trial/training_pass.hpp"
#include "model/trial/trial_model.hpp"
#include "model/trial/trial_state.hpp"
#include "model/trial/workspace.hpp"
#include "model/zoo/zoo.hpp"

namespace hopscotch::testing {

class AlignedBlock {
public:
    // shift: bytes added to a 4096-byte boundary, so that tests can vary the address.
    explicit AlignedBlock(std::size_t bytes, std::size_t shift = 0)
        : bytes_(bytes),
          shift_(shift),
          memory_(static_cast<std::byte*>(std::aligned_alloc(4096, (bytes + shift + 4095) / 4096 * 4096))) {
        std::memset(memory_, 0xA5, bytes + shift);
    }
    ~AlignedBlock() { std::free(memory_); }
    AlignedBlock(AlignedBlock const&) = delete;
    AlignedBlock& operator=(AlignedBlock const&) = delete;

    MutableBytes bytes() { return {memory_ + shift_, bytes_}; }
    float* floats() { return reinterpret_cast<float*>(memory_ + shift_); }

private:
    std::size_t bytes_, shift_;
    std::byte* memory_;
};

inline Manifest plain_manifest(std::vector<std::int64_t> shape, std::int64_t outputs, std::int64_t rows, Task task) {
    Manifest manifest;
    manifest.task = task;
    manifest.shape = std::move(shape);
    manifest.type = FeatureType::float32;
    manifest.outputs = outputs;
    manifest.train = {{"train-00000.h5", rows, 0}};
    auto const scales = static_cast<std::size_t>(manifest.shape.size() == 3 ? manifest.shape[0] : manifest.row_size());
    manifest.features.mean.assign(scales, 0.0);
    manifest.features.stddev.assign(scales, 1.0);
    return manifest;
}

inline Shard random_shard(Manifest const& manifest, std::int64_t rows, std::uint64_t seed) {
    Rng rng(seed);
    Shard shard;
    shard.rows = rows;
    shard.features.own().resize(static_cast<std::size_t>(rows * manifest.row_size()) * sizeof(float));
    auto* const values = reinterpret_cast<float*>(shard.features.own().data());
    for (std::int64_t i = 0; i < rows * manifest.row_size(); ++i) values[i] = static_cast<float>(rng.normal());
    for (std::int64_t i = 0; i < rows; ++i) {
        if (has_labels(manifest.task))
            shard.labels.push_back(rng.below(static_cast<std::uint32_t>(manifest.outputs)));
        else
            for (std::int64_t k = 0; k < manifest.outputs; ++k) shard.targets.push_back(static_cast<float>(rng.normal()));
    }
    return shard;
}

// A copy of the shard as a trainer holds it.
inline std::unique_ptr<ShardSource> source(Shard const& shard) { return shard_in_memory(shard); }

// Trained by LibTorch, as on GPUs; the lean step has tests of its own.
inline TrialConfig trial_config(std::string const& model, Json arguments = Json(Json::Object{})) {
    TrialConfig config;
    config.model.name = model;
    config.model.arguments = std::move(arguments);
    config.train.batch_size = 7;
    config.train.arithmetic.engine = Engine::torch;
    return config;
}

// A dataset, a workspace and a model that belong together.
struct Trial {
    Manifest manifest;
    std::shared_ptr<Workspace> workspace;
    TrialModel model;

    Trial(TrialConfig const& config, Manifest data, std::shared_ptr<Workspace> shared = nullptr)
        : manifest(std::move(data)),
          workspace(shared ? std::move(shared) : std::make_shared<Workspace>("cpu", 1)),
          model(make_trial_model(config, manifest, *workspace)) {}

    TrialModel* operator->() { return &model; }
    std::uint64_t hash(AlignedBlock& block) { return state_hash(block.bytes(), model.state->layout()); }
};

inline UnitAddress unit(int trial, int epoch, int shard) { return {42, TrialId(trial), epoch, ShardId(shard)}; }

inline Manifest digits(std::int64_t rows) { return plain_manifest({1, 8, 8}, 10, rows, Task::classification); }

}  // namespace hopscotch::testing
