// SPDX-License-Identifier: Apache-2.0
// 2x2 max pooling with stride 2 of images whose channels lie together. Needs AVX2. Vectors may end behind the last pixel: x,
// out and picks have k_pooling_slack values more.
#pragma once
#include <cstdint>

namespace hopscotch {

constexpr std::int64_t k_pooling_slack = 8;

struct Pooling {
    std::int64_t height, width, channels;  // of the pooled image
    std::int64_t stride;                   // pixels from a row of the large image to the next one, at least 2 width
};

// picks: which of the four was the largest; the first of equal ones. null: not wanted. What is not a number stays so.
void max_pool(Pooling const& pooling, float const* x, float* out, std::int32_t* picks);

// out: the large image. Each gradient goes to the picked one of its four pixels, 0 to the others. Pixels beside all windows
// keep 0, and no other value.
void spread_picked(Pooling const& pooling, float const* gradient, std::int32_t const* picks, float* out);

}  // namespace hopscotch
