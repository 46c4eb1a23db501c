// SPDX-License-Identifier: Apache-2.0
// A trial of any network, from its three parts.
#pragma once
#include <memory>

#include "model/trial/trial_model.hpp"

namespace hopscotch {

class Network;

TrialModel make_torch_model(TrialConfig const& config, Manifest const& manifest, std::unique_ptr<Network> network,
                            Workspace& workspace);

}  // namespace hopscotch
