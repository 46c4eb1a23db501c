// SPDX-License-Identifier: Apache-2.0
// Batch norm of a GPU, on the host.
#pragma once
#include "kernels/norm_loops.hpp"
#include "tensor/gpu/norm_device.hpp"

namespace hopscotch::testing {

class HostNormDevice final : public NormDevice {
public:
    void run(NormForward const& pass) const override { run_norm_loops(pass); }
    void run(NormBackward const& pass) const override { run_norm_loops(pass); }
};

}  // namespace hopscotch::testing
