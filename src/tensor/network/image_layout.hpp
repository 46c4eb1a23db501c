// SPDX-License-Identifier: Apache-2.0
// In which layout a convolution computes. LibTorch's library for CPUs, oneDNN, has kernels that write past the end of their
// block: a layer with such a kernel computes in the other layout. This is the only list of these faults.
#pragma once
#include <cstdint>

#include "core/cpu_features.hpp"

namespace hopscotch {

struct ConvolutionShape {
    std::int64_t in_channels = 0, kernel = 1, stride = 1, groups = 1;  // square kernels
};

// Whether a CPU with these features may train this layer on images in channels-last order. tests/model/sweep looks for
// shapes for which it may not, with an inaccessible page after each block.
bool channels_last_is_safe(ConvolutionShape const& shape, CpuFeatures const& features);

}  // namespace hopscotch
