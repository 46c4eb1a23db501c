// SPDX-License-Identifier: Apache-2.0
// The two kernels that bring a batch together on a GPU, one launch each.
#pragma once
#include <cuda_runtime_api.h>

#include "model/gpu/gather_element.hpp"

namespace hopscotch {

// Asynchronous on the stream of the current device, whose memory all pointers name. Throw Error if the launch fails.
void launch_gather(FeatureGather const& gather, cudaStream_t stream);
void launch_gather(AnswerGather const& gather, cudaStream_t stream);

}  // namespace hopscotch
