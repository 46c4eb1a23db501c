// SPDX-License-Identifier: Apache-2.0
// Matrix products of the lean step. Each element of a product is one chain of fused multiply-adds over k, in order, from its
// first value. So its bits depend neither on the width of the vectors nor on the cut into tiles, and a plain loop with
// std::fma gives the same.
#pragma once
#include <cstdint>

namespace hopscotch {

// An element lies at data[i * row + j * column]; one of the strides is 1.
struct MatrixView {
    float const* data;
    std::int64_t row, column;
};
inline MatrixView by_rows(float const* data, std::int64_t columns) { return {data, columns, 1}; }
inline MatrixView transposed(MatrixView const& matrix) { return {matrix.data, matrix.column, matrix.row}; }

// The columns of a left factor in groups of `size` columns, which begin `step` floats apart: so the windows of an image are
// the rows of a matrix without a copy. size 0: one group.
struct ColumnGroups {
    std::int64_t size = 0, step = 0;
};

struct Product {
    std::int64_t m, n, k;
    MatrixView a, b;               // [m, k], [k, n]
    float const* first = nullptr;  // [n]: of every row; null: 0
    float* out = nullptr;          // [m, n], contiguous, apart from the others
    ColumnGroups groups = {};      // of a; k is a multiple of the size
    bool more = false;             // the sums begin with out instead of first
};

// out = first + a b. Needs AVX2 and FMA. Takes the widest vectors that the CPU has.
void multiply(Product const& product);

// The same by vectors of 8 and of 16 floats, for multiply() and its test.
void multiply_avx2(Product const& product);
void multiply_avx512(Product const& product);

}  // namespace hopscotch
