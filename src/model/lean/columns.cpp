// SPDX-License-Identifier: Apache-2.0
// Compiled for AVX2 (src/model/CMakeLists.txt): it includes nothing whose functions other files might share. The compiler
// takes several columns at once; that rounds alike for every width.
#include "model/lean/columns.hpp"

namespace hopscotch {

void add_columns(Columns const& shape, float const* x, double* sums) {
    for (std::int64_t r = 0; r < shape.rows; ++r, x += shape.count)
        for (std::int64_t c = 0; c < shape.count; ++c) sums[c] += static_cast<double>(x[c]);
}

void add_products(Columns const& shape, float const* x, float const* y, double* sums) {
    for (std::int64_t r = 0; r < shape.rows; ++r, x += shape.count, y += shape.count)
        for (std::int64_t c = 0; c < shape.count; ++c) sums[c] += static_cast<double>(x[c]) * static_cast<double>(y[c]);
}

void centre(Columns const& shape, float const* mean, float const* factor, float* x) {
    for (std::int64_t r = 0; r < shape.rows; ++r, x += shape.count)
        for (std::int64_t c = 0; c < shape.count; ++c) x[c] = (x[c] - mean[c]) * factor[c];
}

void spread(Columns const& shape, float const* x, float const* weight, float const* bias, float* out) {
    for (std::int64_t r = 0; r < shape.rows; ++r, x += shape.count, out += shape.count)
        for (std::int64_t c = 0; c < shape.count; ++c) out[c] = weight[c] * x[c] + bias[c];
}

void through_norm(Columns const& shape, NormTerms const& terms, float const* normalised, float* gradient) {
    for (std::int64_t r = 0; r < shape.rows; ++r, gradient += shape.count, normalised += shape.count)
        for (std::int64_t c = 0; c < shape.count; ++c)
            gradient[c] = (gradient[c] - terms.mean[c] - terms.product[c] * normalised[c]) * terms.factor[c];
}

}  // namespace hopscotch
