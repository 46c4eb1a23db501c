// SPDX-License-Identifier: Apache-2.0
// Of a CUDA build: every call to the runtime goes through this, kernel launches with cudaGetLastError(). Errors of earlier
// asynchronous work may show at any call, so the text has both: the call, and CUDA's error.
#pragma once
#include <cuda_runtime_api.h>

#include <source_location>
#include <string>

#include "core/error.hpp"

namespace hopscotch {

inline void check_cuda(cudaError_t code, char const* what, std::source_location at = std::source_location::current()) {
    if (code == cudaSuccess) return;
    throw Error(std::string(what) + " failed (" + cudaGetErrorName(code) + ": " + cudaGetErrorString(code) +
                ", there or in a kernel before it) [" + where(at) + "]");
}

}  // namespace hopscotch
