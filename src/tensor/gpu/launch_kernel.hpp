// SPDX-License-Identifier: Apache-2.0
// Starts a kernel, in plain C++: the tests compile the kernels for the host, too.
#pragma once
#include <cuda_runtime.h>

#include "tensor/gpu/cuda_check.hpp"

namespace hopscotch {

struct LaunchShape {
    dim3 blocks, threads;  // threads: of a block
    cudaStream_t stream;   // of the current device
};

// Asynchronous. what: for the Error that is thrown if the launch fails.
template <class... Parameters, class... Arguments>
void launch_kernel(char const* what, void (*kernel)(Parameters...), LaunchShape const& shape,
                   Arguments const&... arguments) {
    cudaLaunchConfig_t launch{};
    launch.gridDim = shape.blocks;
    launch.blockDim = shape.threads;
    launch.stream = shape.stream;
    auto const code = cudaLaunchKernelEx(&launch, kernel, Parameters(arguments)...);
    if (code != cudaSuccess) cudaGetLastError();  // the next call would report this one's error again
    check_cuda(code, what);
}

}  // namespace hopscotch
