// SPDX-License-Identifier: Apache-2.0
// A chain in two: frozen stages at its start, which compute as in evaluation, and the network that is trained on their
// outputs (feature extraction). The second part does not handle images: its rows are the outputs of the first part.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/network/network.hpp"

namespace hopscotch {

// The number of stages at the start of the network of which every parameter is frozen; 0: the network is not a chain, or its
// first layer trains. frozen: by parameter.
std::size_t frozen_stages(Network const& network, std::vector<bool> const& frozen);

// A chain (Network::stages) without its first stages, at least one, which become frozen_start().
std::unique_ptr<Network> tail_of(std::unique_ptr<Network> network, std::size_t stages);

}  // namespace hopscotch
