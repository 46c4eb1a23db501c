// SPDX-License-Identifier: Apache-2.0
// Floats where a trainer computes. On a GPU only later work of that stream may read and write them.
#pragma once
#include <cstddef>
#include <span>

namespace hopscotch {

struct DeviceFloats {
    float* data = nullptr;
    std::size_t size = 0;
    void* stream = nullptr;  // a cudaStream_t; null in host memory, and for CUDA's default stream

    DeviceFloats part(std::size_t first, std::size_t floats) const { return {data + first, floats, stream}; }
};

inline DeviceFloats in_host_memory(std::span<float> values) { return {values.data(), values.size(), nullptr}; }

}  // namespace hopscotch
