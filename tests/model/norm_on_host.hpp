// SPDX-License-Identifier: Apache-2.0
// The kernels of batch norm as plain loops over the same blocks, threads and pieces: the bits that a GPU must have.
#pragma once
#include "tensor/gpu/norm_device.hpp"

namespace hopscotch::testing {

class HostNormDevice final : public NormDevice {
public:
    void run(NormForward const& pass) const override;
    void run(NormBackward const& pass) const override;
};

}  // namespace hopscotch::testing
