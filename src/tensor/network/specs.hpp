// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/trial/pretrained.hpp"
#include "tensor/network/network.hpp"

namespace hopscotch {

NetworkSpecs specs_of(Network& network);

}  // namespace hopscotch
