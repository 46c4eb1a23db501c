// SPDX-License-Identifier: Apache-2.0
// The kernels of batch norm, two launches a pass (an evaluation needs one).
#pragma once
#include <cuda_runtime_api.h>

#include "tensor/gpu/norm_pass.hpp"

namespace hopscotch {

// Asynchronous on the stream of the current device, whose memory all pointers name. Throw Error if the launch fails.
void launch_norm(NormForward const& pass, cudaStream_t stream);
void launch_norm(NormBackward const& pass, cudaStream_t stream);

}  // namespace hopscotch
