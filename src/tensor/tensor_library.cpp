// SPDX-License-Identifier: Apache-2.0
// The entry of this module: all that others use of it (model/trial/torch_library.hpp).
#include "data/dataset/data_schema.hpp"
#include "experiment/config.hpp"
#include "model/trial/torch_library.hpp"
#include "tensor/feed/feed_speed.hpp"
#include "tensor/feed/workspace_impl.hpp"
#include "tensor/step/torch_part_update.hpp"
#include "tensor/trial/torch_trial_model.hpp"
#include "tensor/zoo/checks.hpp"

namespace hopscotch {
namespace {

class TensorLibrary final : public TorchLibrary {
public:
    void check(ModelConfig const& model, DataSchema const& data, Problems& problems) override {
        check_network(model, data, problems);
    }

    std::optional<NetworkFacts> facts(ModelConfig const& model, DataSchema const& data, Problems& problems) override {
        return network_facts(model, data, problems);
    }

    TrialModel make_model(TrialConfig const& config, Manifest const& manifest, Workspace& workspace) override {
        return make_torch_model(config, manifest, accepted_network(config.model, schema_of(manifest)), workspace);
    }

    std::unique_ptr<TorchWorkspace> make_workspace(WorkspaceSettings const& settings) override {
        return std::make_unique<Workspace::Impl>(settings);
    }

    std::unique_ptr<TorchPartUpdate> make_part_update(TrainConfig const& train, Part part) override {
        return hopscotch::make_part_update(train, part);
    }

    double feed_seconds(TrialConfig const& config, Manifest const& manifest, Workspace& workspace,
                        ShardSource& shard) override {
        return hopscotch::feed_seconds(config, manifest, workspace, shard);
    }
};

}  // namespace

extern "C" TorchLibrary* hopscotch_torch_library() {
    static TensorLibrary library;
    return &library;
}

}  // namespace hopscotch
