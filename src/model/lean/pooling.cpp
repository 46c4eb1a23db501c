// SPDX-License-Identifier: Apache-2.0
// Compiled for AVX2 (src/model/CMakeLists.txt): it includes nothing whose functions other files might share.
#include "model/lean/pooling.hpp"

#include "model/lean/vector_math.hpp"

namespace hopscotch {
namespace {

struct Picked {
    __m256 value;
    __m256i which;

    void compare(__m256 other, int its) {
        auto const larger = _mm256_or_ps(_mm256_cmp_ps(other, value, _CMP_GT_OQ), _mm256_cmp_ps(other, other, _CMP_UNORD_Q));
        value = _mm256_blendv_ps(value, other, larger);
        which = _mm256_blendv_epi8(which, _mm256_set1_epi32(its), _mm256_castps_si256(larger));
    }
};

// One row of windows: the gradients to those pixels of their upper (its 0, 1) or lower (2, 3) row that were picked. A
// pixel's last vector ends behind its channels, with zeros: in a pixel that comes later.
void spread_row(Pooling const& pooling, int lower, float const* gradient, std::int32_t const* picks, float* out) {
    auto const channels = pooling.channels;
    for (std::int64_t column = 0; column < pooling.width; ++column, gradient += channels, picks += channels)
        for (int its = 2 * lower; its < 2 * lower + 2; ++its, out += channels)
            for (std::int64_t c = 0; c < channels; c += 8) {
                auto const lanes = lanes_below(channels - c < 8 ? channels - c : 8);
                auto const value = _mm256_maskload_ps(gradient + c, lanes);
                auto const here = _mm256_cmpeq_epi32(_mm256_maskload_epi32(picks + c, lanes), _mm256_set1_epi32(its));
                _mm256_storeu_ps(out + c, _mm256_and_ps(value, _mm256_castsi256_ps(here)));
            }
}

}  // namespace

void max_pool(Pooling const& pooling, float const* x, float* out, std::int32_t* picks) {
    auto const channels = pooling.channels, below = pooling.stride * channels;
    for (std::int64_t row = 0; row < pooling.height; ++row, x += 2 * below) {
        auto const* window = x;
        for (std::int64_t column = 0; column < pooling.width; ++column, window += 2 * channels, out += channels) {
            for (std::int64_t c = 0; c < channels; c += 8) {
                auto const* const from = window + c;
                Picked picked{_mm256_loadu_ps(from), _mm256_setzero_si256()};
                picked.compare(_mm256_loadu_ps(from + channels), 1);
                picked.compare(_mm256_loadu_ps(from + below), 2);
                picked.compare(_mm256_loadu_ps(from + below + channels), 3);
                _mm256_storeu_ps(out + c, picked.value);
                if (picks != nullptr) _mm256_storeu_si256(reinterpret_cast<__m256i*>(picks + c), picked.which);
            }
            if (picks != nullptr) picks += channels;
        }
    }
}

void spread_picked(Pooling const& pooling, float const* gradient, std::int32_t const* picks, float* out) {
    auto const row = pooling.width * pooling.channels;
    for (std::int64_t y = 0; y < pooling.height; ++y, gradient += row, picks += row)
        for (int lower = 0; lower < 2; ++lower) {
            spread_row(pooling, lower, gradient, picks, out);
            out += pooling.stride * pooling.channels;
        }
}

}  // namespace hopscotch
