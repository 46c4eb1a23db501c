// SPDX-License-Identifier: Apache-2.0
// Eigen cuts products of matrices into blocks by the sizes of the CPU's caches, and the last bits of the sums depend on the
// blocks. With fixed sizes a search takes the same decisions on every CPU.
#pragma once
#include <Eigen/Core>

namespace hopscotch {

inline void fix_blocks() {
    static bool const done = (Eigen::setCpuCacheSizes(32 << 10, 512 << 10, 4 << 20), true);
    static_cast<void>(done);
}

}  // namespace hopscotch
