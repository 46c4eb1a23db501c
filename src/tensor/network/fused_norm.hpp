// SPDX-License-Identifier: Apache-2.0
// Batch norm, an addition and a clip as one operator of autograd, by the kernels of tensor/gpu/norm_device.hpp. It keeps x
// for the backward pass; the mask of the clip is computed from x again, or read from y if something was added.
#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tensor/network/network.hpp"
#include "tensor/network/sync_batch_norm.hpp"

namespace hopscotch {

struct FusedNorm {
    NormDevice const& device;
    NormTensors tensors;
    at::Tensor const& batches;               // int64: training counts its batches here
    std::optional<at::Tensor> const& added;  // shaped like x
    Clip clip = Clip::none;
};

// x: [rows, channels], or [rows, channels, height, width], whose channels are brought to the end of the memory if they are
// not there; float32 or bfloat16. The result lies in memory as x does then.
bool can_fuse_norm(at::Tensor const& x);

at::Tensor fused_norm_in_training(at::Tensor const& x, FusedNorm const& norm);    // records its gradient
at::Tensor fused_norm_in_evaluation(at::Tensor const& x, FusedNorm const& norm);  // records nothing

}  // namespace hopscotch
