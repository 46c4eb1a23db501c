// SPDX-License-Identifier: Apache-2.0
// What the lean step does to each value, and its sums. Sums have a fixed order. All need AVX2 and FMA. Matrices are
// contiguous, by rows.
#pragma once
#include <cstdint>

namespace hopscotch {

enum class Activation { relu, tanh };

void activate(Activation activation, float* x, std::int64_t n);
// gradient: of the activated values; becomes that of the values before.
void activate_backward(Activation activation, float const* activated, float* gradient, std::int64_t n);

// mask: 0 with probability p, else 1 / (1 - p). Value i depends on key, layer and i alone: Philox4x32-10 (core/rng.hpp),
// whose block 8 (i / 32) + i % 8 has it as word i / 8 % 4.
void draw_mask(std::uint64_t key, std::uint32_t layer, double p, float* mask, std::int64_t n);
void multiply_values(float const* x, float const* factors, float* out, std::int64_t n);

// out[j]: the sum of column j, from the first row to the last.
void sum_columns(float const* x, std::int64_t rows, std::int64_t columns, float* out);

double sum_of_squares(float const* x, std::int64_t n);  // in double
void clamp(float* x, std::int64_t n, float bound);      // to [-bound, bound]
void scale(float* x, std::int64_t n, float factor);
void add_scaled(float const* x, float factor, float* sum, std::int64_t n);
void mix(float* a, float const* b, float weight, std::int64_t n);  // a + weight (b - a)

}  // namespace hopscotch
