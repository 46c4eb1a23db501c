// SPDX-License-Identifier: Apache-2.0
// In a program with guarded_memory.cpp, posix_memalign and free are its own: a page without access follows each block, and a
// program that writes past a block's end stops. LibTorch and oneDNN take all tensors from posix_memalign. glibc only.
#pragma once

namespace hopscotch::testing {

bool memory_is_guarded();  // false: something else replaced posix_memalign

}  // namespace hopscotch::testing
