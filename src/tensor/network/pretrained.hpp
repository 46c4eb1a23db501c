// SPDX-License-Identifier: Apache-2.0
// Transfer learning: the parameters and buffers of a network that come from a safetensors file (model.init_from), and the
// parameters that are frozen (model.freeze).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/state/safetensors.hpp"
#include "tensor/network/network.hpp"

namespace hopscotch {

struct ModelConfig;
class Problems;

// By parameter: matches a pattern of model.freeze (* stands for any text).
std::vector<bool> frozen_parameters(ModelConfig const& model, Network const& network);

// The names that are read from the file, for the network and its frozen start. Mismatches (missing, unexpected, other shape)
// are listed as problems at /model/init_from unless model.init_mode allows them, and so are patterns of model.freeze that
// match nothing, everything, or a parameter that does not come from the file.
std::vector<std::string> pretrained_names(ModelConfig const& model, Network& network, Problems& problems);

}  // namespace hopscotch
