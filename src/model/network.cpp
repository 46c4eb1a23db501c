// SPDX-License-Identifier: Apache-2.0
#include "model/network.hpp"

#include <ATen/ops/empty_like.h>

namespace hopscotch {

at::Tensor dropout_mask(at::Tensor const& x, double p, at::Generator const& noise) {
    return at::empty_like(x.detach()).bernoulli_(1.0 - p, noise).div_(1.0 - p);
}

}  // namespace hopscotch
