// SPDX-License-Identifier: Apache-2.0
// A configured network, checked and described before it trains.
#pragma once
#include <memory>
#include <optional>

#include "model/trial/network_facts.hpp"
#include "tensor/network/network.hpp"

namespace hopscotch {

struct DataSchema;
struct ModelConfig;
class Problems;

// TorchLibrary::check and facts.
void check_network(ModelConfig const& model, DataSchema const& data, Problems& problems);
std::optional<NetworkFacts> network_facts(ModelConfig const& model, DataSchema const& data, Problems& problems);

// Of a configuration that is accepted: without its frozen stages, which are its frozen_start(), if the model caches them.
std::unique_ptr<Network> accepted_network(ModelConfig const& model, DataSchema const& data);

}  // namespace hopscotch
