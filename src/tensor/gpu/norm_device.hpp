// SPDX-License-Identifier: Apache-2.0
// Batch norm, followed by an addition and a clip, by kernels of our own: two for each direction, each one pass over the
// matrices. torch needs kernels and passes for each of the three, and has no fast batch norm for bfloat16. There are no
// atomics, and no order depends on timing: the bits are always the same. In the tests a fake computes on the host.
#pragma once
#include <ATen/core/Tensor.h>

#include <memory>

namespace hopscotch {

struct NormForward;  // norm_pass.hpp
struct NormBackward;

class NormDevice {
public:
    virtual ~NormDevice() = default;
    // They return at once; the work is on the stream that torch computes on now. Throw Error if a launch fails.
    virtual void run(NormForward const& pass) const = 0;
    virtual void run(NormBackward const& pass) const = 0;
};

// Null on a CPU, where torch's own batch norm stays.
std::unique_ptr<NormDevice> make_norm_device(at::Device device);

}  // namespace hopscotch
