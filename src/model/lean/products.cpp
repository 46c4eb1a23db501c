// SPDX-License-Identifier: Apache-2.0
// This file is compiled for AVX2: it includes nothing whose functions other files might share.
#include "model/lean/products.hpp"

#include "model/lean/tiles.hpp"

namespace hopscotch {
namespace {

struct Eight {
    static constexpr std::int64_t width = 8;
    using Scalar = __m256;
    struct Mask {
        __m256i lanes;
        explicit Mask(std::int64_t columns)
            : lanes(_mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(columns)),
                                       _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))) {}
    };
    __m256 values;

    static Eight all(float value) { return {_mm256_set1_ps(value)}; }
    static Eight load(float const* from) { return {_mm256_loadu_ps(from)}; }
    static Eight load(float const* from, Mask const& mask) { return {_mm256_maskload_ps(from, mask.lanes)}; }
    void store(float* to) const { _mm256_storeu_ps(to, values); }
    void store(float* to, Mask const& mask) const { _mm256_maskstore_ps(to, mask.lanes, values); }
    static Scalar scalar(float const* from) { return _mm256_broadcast_ss(from); }
    void add(Scalar const& a, Eight const& b) { values = _mm256_fmadd_ps(a, b.values, values); }
};

}  // namespace

void multiply_avx2(Product const& p) {
    if (p.n <= 4 && p.m >= 16 && p.groups.size == 0)
        Tiles<Twice<Twice<Eight>>, 3>::multiply_turned(p);
    else if (p.n <= 8)
        Tiles<Eight, 12>::multiply(p);
    else if (p.m <= 3)
        Tiles<Twice<Twice<Eight>>, 3>::multiply(p);
    else
        Tiles<Twice<Eight>, 6>::multiply(p);
}

void multiply(Product const& p) {
#if defined(__x86_64__)
    static bool const has_avx512 = __builtin_cpu_supports("avx512f") != 0;
    if (has_avx512) return multiply_avx512(p);
#endif
    multiply_avx2(p);
}

}  // namespace hopscotch
