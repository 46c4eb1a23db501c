// SPDX-License-Identifier: Apache-2.0
// The kernels of StepDevice. Asynchronous on the stream of the current device, whose memory all pointers name. Throw Error
// if the launch fails.
#pragma once
#include <cuda_runtime_api.h>

#include "core/byte_view.hpp"
#include "model/gpu/update_element.hpp"

namespace hopscotch {

void launch_write(void* to, ByteView values, cudaStream_t stream);
void launch_due_gather(StepBlock const* block, GatherSize const& size, cudaStream_t stream);
void launch_update(FlatUpdate const& update, cudaStream_t stream);
void launch_advance(StepBlock* block, cudaStream_t stream);

}  // namespace hopscotch
