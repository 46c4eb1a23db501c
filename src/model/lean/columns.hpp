// SPDX-License-Identifier: Apache-2.0
// Loops over the columns of matrices for batch norm. Each column's sum goes from the first row to the last, in double.
// Matrices are contiguous, by rows.
#pragma once
#include <cstdint>

namespace hopscotch {

struct Columns {
    std::int64_t rows, count;
};

void add_columns(Columns const& shape, float const* x, double* sums);
void add_products(Columns const& shape, float const* x, float const* y, double* sums);
// x = (x - mean) factor, for each column.
void centre(Columns const& shape, float const* mean, float const* factor, float* x);
// out = weight x + bias, for each column. out may be x.
void spread(Columns const& shape, float const* x, float const* weight, float const* bias, float* out);
// gradient = (gradient - mean - product normalised) factor, for each column.
struct NormTerms {
    float const *mean, *product, *factor;
};
void through_norm(Columns const& shape, NormTerms const& terms, float const* normalised, float* gradient);

}  // namespace hopscotch
