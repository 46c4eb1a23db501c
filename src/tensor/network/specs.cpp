// SPDX-License-Identifier: Apache-2.0
#include "tensor/network/specs.hpp"

namespace hopscotch {

NetworkSpecs specs_of(Network& network) {
    NetworkSpecs out{{}, {}, network.head()};
    if (auto const* start = network.frozen_start()) {
        out.parameters = start->parameters();
        out.buffers = start->buffers();
    }
    out.parameters.insert(out.parameters.end(), network.parameters().begin(), network.parameters().end());
    out.buffers.insert(out.buffers.end(), network.buffers().begin(), network.buffers().end());
    return out;
}

}  // namespace hopscotch
