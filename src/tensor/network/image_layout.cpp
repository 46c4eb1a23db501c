// SPDX-License-Identifier: Apache-2.0
#include "tensor/network/image_layout.hpp"

namespace hopscotch {

// Seen in LibTorch 2.11 (oneDNN 3.10) and 2.15 (oneDNN 3.13): without AVX-512, the gradient of a 1x1 convolution with a
// stride and 2 to 7 input channels, fewer than the 8 floats of a vector.
bool channels_last_is_safe(ConvolutionShape const& shape, CpuFeatures const& features) {
    constexpr std::int64_t k_floats = 8;
    bool const kernels_of_avx2 = features.avx2 && !features.avx512;
    return !(kernels_of_avx2 && shape.kernel == 1 && shape.stride > 1 && shape.in_channels / shape.groups < k_floats);
}

}  // namespace hopscotch
