// SPDX-License-Identifier: Apache-2.0
// Compiled for AVX2 (src/model/CMakeLists.txt): it includes nothing whose functions other files might share. The compiler
// may turn plain loops into vectors: without a sum in them every width rounds alike.
#include "model/lean/elements.hpp"

#include "model/lean/vector_math.hpp"

namespace hopscotch {
namespace {

// Philox4x32-10 of 8 counters at once.
struct Philox8 {
    __m256i words[4];
};

// high and low: of the 64-bit products of all lanes with a constant.
struct WideProduct {
    __m256i high, low;
};
WideProduct times(__m256i x, std::uint32_t constant) {
    auto const factor = _mm256_set1_epi32(static_cast<int>(constant));
    auto const even = _mm256_mul_epu32(x, factor), odd = _mm256_mul_epu32(_mm256_srli_epi64(x, 32), factor);
    return {_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA),
            _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA)};
}

// The key of each of the ten rounds, in all lanes.
struct PhiloxKeys {
    static constexpr int k_rounds = 10;
    __m256i low[k_rounds], high[k_rounds];

    explicit PhiloxKeys(std::uint64_t key) {
        for (std::uint32_t round = 0; round < k_rounds; ++round) {
            low[round] = _mm256_set1_epi32(static_cast<int>(static_cast<std::uint32_t>(key) + round * 0x9E3779B9U));
            high[round] = _mm256_set1_epi32(static_cast<int>(static_cast<std::uint32_t>(key >> 32) + round * 0xBB67AE85U));
        }
    }
};

Philox8 next_round(Philox8 const& c, PhiloxKeys const& keys, int round) {
    auto const p0 = times(c.words[0], 0xD2511F53U), p1 = times(c.words[2], 0xCD9E8D57U);
    return {{_mm256_xor_si256(_mm256_xor_si256(p1.high, c.words[1]), keys.low[round]), p1.low,
             _mm256_xor_si256(_mm256_xor_si256(p0.high, c.words[3]), keys.high[round]), p0.low}};
}

}  // namespace

void activate(Activation activation, float* x, std::int64_t n) {
    if (activation == Activation::relu) {
        for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? 0.0F : x[i];
        return;
    }
    for (; n >= 8; x += 8, n -= 8) _mm256_storeu_ps(x, tanh(_mm256_loadu_ps(x)));
    auto const rest = lanes_below(n);
    if (n > 0) _mm256_maskstore_ps(x, rest, tanh(_mm256_maskload_ps(x, rest)));
}

void activate_backward(Activation activation, float const* activated, float* gradient, std::int64_t n) {
    if (activation == Activation::relu)
        for (std::int64_t i = 0; i < n; ++i) gradient[i] = activated[i] <= 0 ? 0.0F : gradient[i];
    else
        for (std::int64_t i = 0; i < n; ++i) gradient[i] *= 1.0F - activated[i] * activated[i];
}

// Two blocks of 8 counters at once: a round waits for the one before.
void draw_mask(std::uint64_t key, std::uint32_t layer, double p, float* mask, std::int64_t n) {
    auto const kept = all(static_cast<float>(1.0 / (1.0 - p)));
    // Unsigned words below p 2^32 are dropped; with the highest bit turned, signed numbers compare alike.
    auto const turned = _mm256_set1_epi32(INT32_MIN);
    auto const limit = _mm256_set1_epi32(static_cast<int>(static_cast<std::uint32_t>(p * 4294967296.0) ^ 0x80000000U));
    auto const factors = [&](__m256i word) {
        auto const dropped = _mm256_cmpgt_epi32(limit, _mm256_xor_si256(word, turned));
        return _mm256_andnot_ps(_mm256_castsi256_ps(dropped), kept);
    };
    PhiloxKeys const keys(key);
    auto block = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    auto const eight = _mm256_set1_epi32(8), zero = _mm256_setzero_si256(),
               third = _mm256_set1_epi32(static_cast<int>(layer));
    for (; n > 0; mask += 64, n -= 64) {
        Philox8 first{{block, zero, third, zero}}, second{{_mm256_add_epi32(block, eight), zero, third, zero}};
        block = _mm256_add_epi32(second.words[0], eight);
        for (int round = 0; round < PhiloxKeys::k_rounds; ++round) {
            first = next_round(first, keys, round);
            second = next_round(second, keys, round);
        }
        float last[64];
        auto* const to = n < 64 ? last : mask;
        for (int word = 0; word < 4; ++word) {
            _mm256_storeu_ps(to + word * 8, factors(first.words[word]));
            _mm256_storeu_ps(to + 32 + word * 8, factors(second.words[word]));
        }
        for (std::int64_t i = 0; n < 64 && i < n; ++i) mask[i] = last[i];
    }
}

void multiply_values(float const* x, float const* factors, float* out, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = x[i] * factors[i];
}

void sum_columns(float const* x, std::int64_t rows, std::int64_t columns, float* out) {
    for (std::int64_t first = 0; first < columns; first += 8) {
        auto const lanes = lanes_below(columns - first < 8 ? columns - first : 8);
        auto sum = _mm256_setzero_ps();
        for (std::int64_t r = 0; r < rows; ++r) sum = _mm256_add_ps(sum, _mm256_maskload_ps(x + r * columns + first, lanes));
        _mm256_maskstore_ps(out + first, lanes, sum);
    }
}

double sum_of_squares(float const* x, std::int64_t n) {
    Sum8 sum;
    for (; n > 0; x += 8, n -= 8) {
        auto const value = _mm256_maskload_ps(x, lanes_below(n < 8 ? n : 8));
        auto const low = _mm256_cvtps_pd(_mm256_castps256_ps128(value));
        auto const high = _mm256_cvtps_pd(_mm256_extractf128_ps(value, 1));
        sum.low = _mm256_fmadd_pd(low, low, sum.low);
        sum.high = _mm256_fmadd_pd(high, high, sum.high);
    }
    return sum.total();
}

void clamp(float* x, std::int64_t n, float bound) {
    for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] > bound ? bound : x[i] < -bound ? -bound : x[i];
}

void scale(float* x, std::int64_t n, float factor) {
    for (std::int64_t i = 0; i < n; ++i) x[i] *= factor;
}

void add_scaled(float const* x, float factor, float* sum, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) sum[i] += factor * x[i];
}

void mix(float* a, float const* b, float weight, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) a[i] += weight * (b[i] - a[i]);
}

}  // namespace hopscotch
