// SPDX-License-Identifier: Apache-2.0
// The kernel that copies many tensors at once.
#pragma once
#include <cuda_runtime_api.h>

#include <span>

#include "tensor/gpu/copy_element.hpp"

namespace hopscotch {

// Asynchronous on the stream of the current device, whose memory all pointers name. The list travels with the launches, one
// for every 84 tensors. Throws Error if a launch fails.
void launch_copies(std::span<TensorCopy const> copies, cudaStream_t stream);

}  // namespace hopscotch
