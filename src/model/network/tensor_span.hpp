// SPDX-License-Identifier: Apache-2.0
// The floats of a contiguous tensor in host memory. Included by sources of this module only: it shows LibTorch.
#pragma once
#include <ATen/core/Tensor.h>

#include <span>

namespace hopscotch {

inline std::span<float const> floats_of(at::Tensor const& tensor) {
    return {tensor.const_data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

}  // namespace hopscotch
