// SPDX-License-Identifier: Apache-2.0
// One element of a copy of many tensors at once: the body of the kernel in copy_kernels.cu, and of its test on a CPU. A copy
// may change between float32 and bfloat16, and swap two neighbouring dimensions: the order of a convolution's weights in the
// state is [out, in, place], and channels last [out, place, in].
#pragma once
#include <cstddef>
#include <cstdint>

#include "tensor/gpu/norm_element.hpp"

#ifdef __CUDACC__
#define HOPSCOTCH_BOTH __host__ __device__
#else
#define HOPSCOTCH_BOTH
#endif

namespace hopscotch {

struct TensorCopy {
    void const* from = nullptr;           // [outer, columns, rows]; null: zeros
    void* to = nullptr;                   // [outer, rows, columns]
    std::uint32_t count = 0;              // elements, of all dimensions
    std::uint32_t rows = 1, columns = 1;  // 1 row: nothing is swapped
    FloatType from_type = FloatType::float32, to_type = FloatType::float32;
};

HOPSCOTCH_BOTH inline std::uint32_t copied_from(TensorCopy const& copy, std::uint32_t at) {
    if (copy.rows == 1 || copy.columns == 1) return at;
    auto const inner = at % (copy.rows * copy.columns);
    return at - inner + inner % copy.columns * copy.rows + inner / copy.columns;
}

HOPSCOTCH_BOTH inline void copy_element(TensorCopy const& copy, std::uint32_t at) {
    auto const from = copied_from(copy, at);
    float const value = copy.from == nullptr                   ? 0
                        : copy.from_type == FloatType::float32 ? static_cast<float const*>(copy.from)[from]
                                                               : widened(static_cast<Bf16 const*>(copy.from)[from]);
    if (copy.to_type == FloatType::float32)
        static_cast<float*>(copy.to)[at] = value;
    else
        narrow(value, static_cast<Bf16*>(copy.to)[at]);
}

}  // namespace hopscotch

#undef HOPSCOTCH_BOTH
