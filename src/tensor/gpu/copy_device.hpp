// SPDX-License-Identifier: Apache-2.0
// Copies many tensors by few launches. torch's own copy of a list changes no order of dimensions. In the tests a fake copies
// on the host.
#pragma once
#include <ATen/core/Tensor.h>

#include <memory>
#include <span>

namespace hopscotch {

struct TensorCopy;  // copy_element.hpp

class CopyDevice {
public:
    virtual ~CopyDevice() = default;
    // Returns at once; the work is on the stream that torch computes on now. Throws Error if a launch fails.
    virtual void run(std::span<TensorCopy const> copies) const = 0;
};

// Null on a CPU.
std::unique_ptr<CopyDevice> make_copy_device(at::Device device);

}  // namespace hopscotch
