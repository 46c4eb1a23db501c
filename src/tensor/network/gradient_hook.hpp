// SPDX-License-Identifier: Apache-2.0
// Autograd's signal that a gradient is final: the hook that PyTorch's DistributedDataParallel uses too.
#pragma once
#include <ATen/core/Tensor.h>

#include <functional>

namespace hopscotch {

// Calls `then` whenever a backward pass has added to the gradient of this leaf. It replaces an earlier one.
void on_accumulated(at::Tensor const& parameter, std::function<void()> then);

}  // namespace hopscotch
