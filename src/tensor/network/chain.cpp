// SPDX-License-Identifier: Apache-2.0
#include "tensor/network/chain.hpp"

#include <utility>

namespace hopscotch {

void ChainNetwork::add_stage(std::vector<std::int64_t> shape, Compute compute) {
    stages_.push_back({std::move(shape), parameters().size(), buffers().size(), multiply_adds()});
    computes_.push_back(std::move(compute));
}

at::Tensor ChainNetwork::forward(std::size_t first, std::size_t end, at::Tensor const& x, Pass const& pass) {
    auto h = images_ == Images::as_configured && x.dim() == 4 ? images_for(x, pass) : x;
    for (auto i = first; i < end; ++i) h = computes_[i](h, pass);
    return h;
}

}  // namespace hopscotch
