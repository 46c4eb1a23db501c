// SPDX-License-Identifier: Apache-2.0
// The kernels of a training step that torch does not have. All of them run on the stream of the calling thread, return at
// once, and can be captured in a CUDA graph. In the tests a fake computes on the host.
#pragma once
#include <ATen/core/Tensor.h>

#include <memory>

#include "core/byte_view.hpp"
#include "model/gpu/step_block.hpp"

namespace hopscotch {

struct FlatUpdate;  // model/gpu/update_element.hpp

class StepDevice {
public:
    static constexpr std::size_t k_most_written = 1024;  // bytes
    virtual ~StepDevice() = default;
    virtual void write(void* to, ByteView values) = 0;                        // values are read before the return
    virtual void gather(StepBlock const* block, GatherSize const& size) = 0;  // the batch that is due
    virtual void update(FlatUpdate const& update) = 0;
    virtual void advance(StepBlock* block) = 0;  // the next step of the launch is due
};

// Null on a CPU.
std::unique_ptr<StepDevice> make_step_device(at::Device device);

}  // namespace hopscotch
