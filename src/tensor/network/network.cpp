// SPDX-License-Identifier: Apache-2.0
#include "tensor/network/network.hpp"

#include <ATen/ops/empty_like.h>

#include "model/trial/pretrained.hpp"
#include "tensor/network/noise.hpp"

namespace hopscotch {

std::string Network::head() const {
    auto const& last = parameters().back().name;
    auto const module = module_of(last);
    return module.empty() ? last : module;
}

std::vector<NetworkMetric> const& Network::metrics() const {
    static std::vector<NetworkMetric> const none;
    return none;
}

at::Tensor dropout_mask(at::Tensor const& x, double p, at::Generator const& noise) {
    return at::empty_like(x.detach()).bernoulli_(1.0 - p, noise).div_(1.0 - p);
}

at::Tensor dropped(at::Tensor const& x, double p, Pass const& pass) {
    return pass.training() && p != 0 ? x.mul(dropout_mask(x, p, pass.noise->generator())) : x;
}

}  // namespace hopscotch
