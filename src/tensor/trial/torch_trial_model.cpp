// SPDX-License-Identifier: Apache-2.0
#include "tensor/trial/torch_trial_model.hpp"

#include "data/batches/shard_source.hpp"
#include "tensor/trial/torch_evaluator.hpp"
#include "tensor/trial/torch_training_pass.hpp"
#include "tensor/trial/torch_trial_state.hpp"

namespace hopscotch {

TrialModel make_torch_model(TrialConfig const& config, Manifest const& manifest, std::unique_ptr<Network> network,
                            Workspace& workspace) {
    auto state = std::make_shared<TorchTrialState>(config, manifest, std::move(network), workspace);
    return {state, std::make_unique<TorchTrainingPass>(state), std::make_unique<TorchEvaluator>(state)};
}

}  // namespace hopscotch
