// SPDX-License-Identifier: Apache-2.0
// The module `tensor`, which computes with LibTorch, as the others see it. The program loads it when a trial first needs it,
// since LibTorch takes 0.4 s of CPU to start and 130 MB (docs/decisions/0075-libtorch-when-a-trial-needs-it.md).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "model/trial/network_facts.hpp"
#include "model/trial/trial_model.hpp"
#include "model/trial/workspace.hpp"

namespace hopscotch {

struct DataSchema;
struct ModelConfig;
class Problems;
class ShardSource;
struct TrainConfig;

// The optimizer of a part of the parameters, on the host.
class TorchPartUpdate {
public:
    virtual ~TorchPartUpdate() = default;
    virtual void update(std::span<float> gradient, double lr, std::int64_t step) = 0;
};

class TorchLibrary {
public:
    virtual ~TorchLibrary() = default;

    // check_model of a network of the zoo or of the user's own (zoo.hpp).
    virtual void check(ModelConfig const& model, DataSchema const& data, Problems& problems) = 0;
    // None after a complaint about the model. Does not look at model.init_from.
    virtual std::optional<NetworkFacts> facts(ModelConfig const& model, DataSchema const& data, Problems& problems) = 0;

    // Of a configuration that check_model accepts.
    virtual TrialModel make_model(TrialConfig const& config, Manifest const& manifest, Workspace& workspace) = 0;

    virtual std::unique_ptr<TorchWorkspace> make_workspace(WorkspaceSettings const& settings) = 0;

    struct Part {
        float* values;  // [1 + slots, size]: parameters and slots, which the update changes and does not own
        std::int64_t slots, size;
        std::int64_t decayed;  // number of parameters with weight decay, which are the first ones
    };
    virtual std::unique_ptr<TorchPartUpdate> make_part_update(TrainConfig const& train, Part part) = 0;

    // Seconds of one pass over the shard: order, gather, normalisation and augmentation of all its batches, with nothing
    // trained on them. On a GPU: until the last batch is there. That is more than feeding adds to a step, because the step's
    // kernels hide work of the host.
    virtual double feed_seconds(TrialConfig const& config, Manifest const& manifest, Workspace& workspace,
                                ShardSource& shard) = 0;
};

// Any thread. Throws Error if it cannot be loaded.
TorchLibrary& torch_library();

}  // namespace hopscotch
