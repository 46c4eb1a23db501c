// SPDX-License-Identifier: Apache-2.0
// This file is compiled for AVX-512: it includes nothing whose functions other files might share.
#include "model/lean/tiles.hpp"

namespace hopscotch {
#if defined(__x86_64__)
namespace {

struct Sixteen {
    static constexpr std::int64_t width = 16;
    using Scalar = __m512;
    struct Mask {
        __mmask16 lanes;
        explicit Mask(std::int64_t columns)
            : lanes(columns >= width ? __mmask16{0xFFFF} : static_cast<__mmask16>(columns > 0 ? (1U << columns) - 1 : 0)) {}
    };
    __m512 values;

    static Sixteen all(float value) { return {_mm512_set1_ps(value)}; }
    static Sixteen load(float const* from) { return {_mm512_loadu_ps(from)}; }
    static Sixteen load(float const* from, Mask const& mask) { return {_mm512_maskz_loadu_ps(mask.lanes, from)}; }
    void store(float* to) const { _mm512_storeu_ps(to, values); }
    void store(float* to, Mask const& mask) const { _mm512_mask_storeu_ps(to, mask.lanes, values); }
    static Scalar scalar(float const* from) { return _mm512_set1_ps(*from); }
    void add(Scalar const& a, Sixteen const& b) { values = _mm512_fmadd_ps(a, b.values, values); }
};

}  // namespace

void multiply_avx512(Product const& p) {
    if (p.n <= 4 && p.m >= 16 && p.groups.size == 0)
        Tiles<Twice<Sixteen>, 4>::multiply_turned(p);
    else if (p.n <= 16)
        Tiles<Sixteen, 12>::multiply(p);
    else
        Tiles<Twice<Sixteen>, 8>::multiply(p);
}
#else
void multiply_avx512(Product const& p) { multiply_avx2(p); }
#endif

}  // namespace hopscotch
