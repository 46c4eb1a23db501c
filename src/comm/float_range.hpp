// SPDX-License-Identifier: Apache-2.0
// A range of flat values, such as a bucket of gradients or the part of a server.
#pragma once
#include <cstddef>

namespace hopscotch {

// Chunk c of n floats cut for K ranks, at multiples of 16 floats (a cache line).
struct FloatRange {
    std::size_t first = 0, size = 0;
};
FloatRange chunk_of(std::size_t n, int chunk, int chunks);

}  // namespace hopscotch
