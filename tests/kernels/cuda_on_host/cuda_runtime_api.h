// SPDX-License-Identifier: Apache-2.0
// Stands for CUDA's header when the tests compile the kernels for the host. It has only the names that the kernels use.
//
// A launch runs at once: one block after the other, in a shuffled order. Threads of a block are fibers. Between two barriers
// each of them runs on its own, and their order is shuffled anew: so where a barrier is missing, results change. In a build
// with TSan they are real threads. A barrier that some threads pass by, or that has not all of them, ends the program.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#define __global__
#define __device__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static  // one block runs at a time

struct uint3 {
    unsigned x = 0, y = 0, z = 0;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
struct dim3 {
    unsigned x = 1, y = 1, z = 1;
    dim3() = default;
    dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

inline thread_local uint3 threadIdx, blockIdx;
inline thread_local dim3 blockDim, gridDim;

void __syncthreads();

template <class T>
T __ldg(T const* from) {
    return *from;
}

using cudaStream_t = void*;
enum cudaError_t { cudaSuccess };
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline char const* cudaGetErrorName(cudaError_t) { return ""; }
inline char const* cudaGetErrorString(cudaError_t) { return ""; }

struct cudaLaunchConfig_t {
    dim3 gridDim, blockDim;
    std::size_t dynamicSmemBytes = 0;
    cudaStream_t stream = nullptr;
};

namespace hopscotch::testing {
// kernel: one thread of it, which reads its place from threadIdx and blockIdx.
void run_kernel(dim3 blocks, dim3 threads, std::function<void()> const& kernel);
}  // namespace hopscotch::testing

template <class... Parameters>
cudaError_t cudaLaunchKernelEx(cudaLaunchConfig_t const* launch, void (*kernel)(Parameters...), Parameters... arguments) {
    hopscotch::testing::run_kernel(launch->gridDim, launch->blockDim, [&] { kernel(arguments...); });
    return cudaSuccess;
}
