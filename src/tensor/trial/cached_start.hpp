// SPDX-License-Identifier: Apache-2.0
// The frozen start of a network (model.cache_frozen): it turns the rows of a shard into rows for the network after it, once
// per trainer and shard.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/batches/unit.hpp"
#include "model/trial/workspace.hpp"

namespace hopscotch {

class Feed;
class FrozenStart;
class ShardSource;
class Step;
struct Features;
struct Manifest;
struct NamedTensor;
struct TrainingNeed;
struct TrialConfig;

// The dataset as the network after a frozen start sees it: rows of float32 that nothing normalises.
Manifest manifest_of_features(Manifest const& manifest, FrozenStart const& start);

class CachedStart {
public:
    // start and step: of the network after it. Reads the weights of the start. All but config outlive it.
    CachedStart(TrialConfig const& config, Manifest const& manifest, FrozenStart& start, Step& step,
                Workspace::Impl& workspace);
    ~CachedStart();

    // A source of features for these rows of the shard, of which it computes those that are not there yet; on_batch, if any,
    // is called for each batch of them. Other rows may be zero. held: by the bound state, for an error about memory.
    std::unique_ptr<ShardSource> features(ShardSource& shard, BatchRange const& rows, TrainingNeed const& held,
                                          std::function<void()> const& on_batch);

    // Its weights and statistics, on the host; they live as long as this.
    std::vector<NamedTensor> tensors();

private:
    Features room_for(ShardSource const& shard) const;
    void compute(ShardSource& shard, Features& into, std::vector<BatchRange> const& missing, TrainingNeed const& held,
                 std::function<void()> const& on_batch);

    bool has_labels_;       // else targets
    std::int64_t outputs_;  // of the dataset
    FrozenStart& start_;
    Step& step_;
    Workspace::Impl& workspace_;
    std::unique_ptr<Feed> feed_;
    std::string layers_;  // everything that decides the values of the features
    std::int64_t batch_;  // rows
    std::vector<at::Tensor> parameters_, buffers_, on_host_;
};

}  // namespace hopscotch
