// SPDX-License-Identifier: Apache-2.0
// Functions of 8 floats, to 2 units in the last place, by operations that every CPU rounds alike. Only for files that are
// compiled for AVX2 (src/model/CMakeLists.txt). All names are local to such a file.
#pragma once
#include <cstdint>

#include "model/lean/vectors.hpp"

namespace hopscotch {
namespace {

// The lanes of the last vector of n values: those below n.
inline __m256i lanes_below(std::int64_t n) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

inline __m256 all(float value) { return _mm256_set1_ps(value); }

// c[0] + x (c[1] + x (c[2] + ...)).
template <int n>
inline __m256 polynomial(__m256 x, float const (&c)[n]) {
    auto out = all(c[n - 1]);
    for (int i = n - 2; i >= 0; --i) out = _mm256_fmadd_ps(out, x, all(c[i]));
    return out;
}

// x = n ln 2 + rest, |rest| <= ln 2 / 2.
struct Reduced {
    __m256 power;  // 2^n
    __m256 rest;
};
inline Reduced reduced(__m256 x) {
    auto const n = _mm256_round_ps(_mm256_mul_ps(x, all(1.44269504F)), _MM_FROUND_TO_NEAREST_INT);
    auto const high = _mm256_fnmadd_ps(n, all(0.693145752F), x);  // ln 2 in two parts, of which n times the first is exact
    auto const exponent = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return {_mm256_castsi256_ps(exponent), _mm256_fnmadd_ps(n, all(1.42860677e-6F), high)};
}

// (e^x - 1) / x for |x| <= ln 2 / 2: the series.
inline __m256 exp_series(__m256 x) {
    constexpr float c[] = {1.0F, 1.0F / 2, 1.0F / 6, 1.0F / 24, 1.0F / 120, 1.0F / 720, 1.0F / 5040, 1.0F / 40320};
    return polynomial(x, c);
}

// A NaN stays one: the second operand of min and max decides then. Below -87 and above 88 as there.
inline __m256 exp(__m256 x) {
    auto const [power, rest] = reduced(_mm256_min_ps(all(88.0F), _mm256_max_ps(all(-87.0F), x)));
    return _mm256_mul_ps(power, _mm256_fmadd_ps(rest, exp_series(rest), all(1)));
}

// tanh |x| = -d / (2 + d) with d = e^(-2|x|) - 1.
inline __m256 tanh(__m256 x) {
    auto const sign = _mm256_and_ps(x, all(-0.0F)), size = _mm256_andnot_ps(all(-0.0F), x);
    auto const [power, rest] = reduced(_mm256_max_ps(all(-40.0F), _mm256_mul_ps(size, all(-2))));
    auto const d = _mm256_fmadd_ps(power, _mm256_mul_ps(rest, exp_series(rest)), _mm256_sub_ps(power, all(1)));
    auto const out = _mm256_div_ps(d, _mm256_add_ps(all(2), d));
    return _mm256_or_ps(_mm256_andnot_ps(all(-0.0F), out), sign);
}

// Of normal numbers above 0. x = 2^n m with m from sqrt(1/2) to sqrt(2); ln m = 2 artanh((m - 1) / (m + 1)).
inline __m256 log(__m256 x) {
    constexpr int k_root_half = 0x3F3504F3;  // the bits of sqrt(1/2)
    auto const shifted = _mm256_sub_epi32(_mm256_castps_si256(x), _mm256_set1_epi32(k_root_half));
    auto const n = _mm256_cvtepi32_ps(_mm256_srai_epi32(shifted, 23));
    auto const fraction = _mm256_and_si256(shifted, _mm256_set1_epi32(0x007FFFFF));
    auto const m = _mm256_castsi256_ps(_mm256_add_epi32(fraction, _mm256_set1_epi32(k_root_half)));
    auto const s = _mm256_div_ps(_mm256_sub_ps(m, all(1)), _mm256_add_ps(m, all(1)));
    auto const square = _mm256_mul_ps(s, s);
    constexpr float c[] = {2.0F / 3, 2.0F / 5, 2.0F / 7, 2.0F / 9, 2.0F / 11};
    auto const series = _mm256_mul_ps(_mm256_mul_ps(square, s), polynomial(square, c));
    auto const small = _mm256_fmadd_ps(n, all(1.42860677e-6F), series);
    auto const finite = _mm256_fmadd_ps(n, all(0.693145752F), _mm256_add_ps(_mm256_add_ps(s, s), small));
    return _mm256_add_ps(finite, _mm256_sub_ps(x, x));  // NaN and infinity become NaN
}

// ln(1 + x) for x from 0 to 1. What 1 + x rounds away comes back.
inline __m256 log1p(__m256 x) {
    auto const sum = _mm256_add_ps(all(1), x);
    auto const lost = _mm256_sub_ps(x, _mm256_sub_ps(sum, all(1)));
    return _mm256_add_ps(log(sum), _mm256_div_ps(lost, sum));
}

inline __m256 sigmoid(__m256 x) {
    return _mm256_div_ps(all(1), _mm256_add_ps(all(1), exp(_mm256_sub_ps(_mm256_setzero_ps(), x))));
}

// Eight sums of floats in double: lane i has the values whose number is i modulo 8.
struct Sum8 {
    __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();

    void add(__m256 x) {
        low = _mm256_add_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(x)));
        high = _mm256_add_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)));
    }
    double total() const {
        alignas(32) double lanes[8];
        _mm256_store_pd(lanes, low);
        _mm256_store_pd(lanes + 4, high);
        return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
    }
};

}  // namespace
}  // namespace hopscotch
