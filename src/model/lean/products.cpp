// SPDX-License-Identifier: Apache-2.0
// Panels of 16 columns of b are copied together; tiles of 6 rows and 16 columns of the product stay in registers. This file
// is compiled for AVX2: it includes nothing whose functions other files might share.
#include "model/lean/products.hpp"

#include <immintrin.h>

namespace hopscotch {
namespace {

constexpr std::int64_t k_width = 16, k_depth = 256, k_height = 6;  // of a panel: columns, rows (16 KB); rows of a tile

struct alignas(64) Panel {
    float values[k_depth * k_width];
};

// The columns of a panel that exist, in two vectors.
struct Edge {
    __m256i left, right;
    explicit Edge(std::int64_t columns) {
        auto const lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        auto const count = _mm256_set1_epi32(static_cast<int>(columns));
        left = _mm256_cmpgt_epi32(count, lane);
        right = _mm256_cmpgt_epi32(count, _mm256_add_epi32(lane, _mm256_set1_epi32(8)));
    }
};

void copy_rows(MatrixView const& b, std::int64_t depth, std::int64_t columns, float* panel) {
    Edge const edge(columns);
    auto const* from = b.data;
    for (std::int64_t k = 0; k < depth; ++k, from += b.row, panel += k_width) {
        _mm256_store_ps(panel, _mm256_maskload_ps(from, edge.left));
        _mm256_store_ps(panel + 8, _mm256_maskload_ps(from + 8, edge.right));
    }
}

void copy_full_rows(MatrixView const& b, std::int64_t depth, float* panel) {
    auto const* from = b.data;
    for (std::int64_t k = 0; k < depth; ++k, from += b.row, panel += k_width) {
        _mm256_store_ps(panel, _mm256_loadu_ps(from));
        _mm256_store_ps(panel + 8, _mm256_loadu_ps(from + 8));
    }
}

// 8 columns of 8 values each become 8 rows of a panel.
void transpose_8x8(float const* from, std::int64_t column, float* panel) {
    __m256 r[8], s[8];
    for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(from + i * column);
    for (int i = 0; i < 8; i += 2) {
        s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xEE);
        r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xEE);
    }
    for (int i = 0; i < 4; ++i) {
        _mm256_store_ps(panel + i * k_width, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_store_ps(panel + (i + 4) * k_width, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}

void copy_columns(MatrixView const& b, std::int64_t depth, std::int64_t columns, float* panel) {
    for (std::int64_t first = 0; first < k_width; first += 8) {
        auto const* const from = b.data + first * b.column;
        bool const whole = first + 8 <= columns;
        auto const blocks = whole ? depth / 8 : 0;
        for (std::int64_t block = 0; block < blocks; ++block)
            transpose_8x8(from + block * 8, b.column, panel + block * 8 * k_width + first);
        for (std::int64_t k = blocks * 8; k < depth; ++k)
            for (std::int64_t j = 0; j < 8; ++j)
                panel[k * k_width + first + j] = first + j < columns ? from[j * b.column + k] : 0.0F;
    }
}

struct Tile {
    float const* a;
    std::int64_t a_row, a_column, depth;
    float const* panel;
    float const* first;  // null: zeros, unless `more`
    bool more;           // continues the sums in out
    float* out;
    std::int64_t out_row;
};

template <int rows, bool is_edge>
void compute(Tile const& tile, Edge const& edge) {
    auto const load = [&](float const* from, __m256i mask, int right) {
        return is_edge ? _mm256_maskload_ps(from + right, mask) : _mm256_loadu_ps(from + right);
    };
    __m256 left[rows], right[rows];
    for (int i = 0; i < rows; ++i) {
        auto const* const from = tile.more ? tile.out + i * tile.out_row : tile.first;
        left[i] = from == nullptr ? _mm256_setzero_ps() : load(from, edge.left, 0);
        right[i] = from == nullptr ? _mm256_setzero_ps() : load(from, edge.right, 8);
    }
    auto const* a = tile.a;
    auto const* panel = tile.panel;
    for (std::int64_t k = 0; k < tile.depth; ++k, a += tile.a_column, panel += k_width) {
        auto const b_left = _mm256_load_ps(panel), b_right = _mm256_load_ps(panel + 8);
        for (int i = 0; i < rows; ++i) {
            auto const value = _mm256_broadcast_ss(a + i * tile.a_row);
            left[i] = _mm256_fmadd_ps(value, b_left, left[i]);
            right[i] = _mm256_fmadd_ps(value, b_right, right[i]);
        }
    }
    for (int i = 0; i < rows; ++i) {
        auto* const to = tile.out + i * tile.out_row;
        if (is_edge) {
            _mm256_maskstore_ps(to, edge.left, left[i]);
            _mm256_maskstore_ps(to + 8, edge.right, right[i]);
        } else {
            _mm256_storeu_ps(to, left[i]);
            _mm256_storeu_ps(to + 8, right[i]);
        }
    }
}

template <bool is_edge>
void compute_rows(Tile const& tile, std::int64_t rows, Edge const& edge) {
    switch (rows) {
        case 6: return compute<6, is_edge>(tile, edge);
        case 5: return compute<5, is_edge>(tile, edge);
        case 4: return compute<4, is_edge>(tile, edge);
        case 3: return compute<3, is_edge>(tile, edge);
        case 2: return compute<2, is_edge>(tile, edge);
        default: return compute<1, is_edge>(tile, edge);
    }
}

}  // namespace

void multiply(Product const& p) {
    Panel panel;
    for (std::int64_t column = 0; column < p.n; column += k_width) {
        auto const columns = p.n - column < k_width ? p.n - column : k_width;
        Edge const edge(columns);
        for (std::int64_t k = 0; k < p.k || k == 0; k += k_depth) {
            auto const depth = p.k - k < k_depth ? p.k - k : k_depth;
            MatrixView const b{p.b.data + k * p.b.row + column * p.b.column, p.b.row, p.b.column};
            if (b.column != 1)
                copy_columns(b, depth, columns, panel.values);
            else if (columns < k_width)
                copy_rows(b, depth, columns, panel.values);
            else
                copy_full_rows(b, depth, panel.values);
            Tile tile{p.a.data + k * p.a.column,
                      p.a.row,
                      p.a.column,
                      depth,
                      panel.values,
                      p.first == nullptr ? nullptr : p.first + column,
                      k > 0,
                      p.out + column,
                      p.n};
            for (std::int64_t row = 0; row < p.m; row += k_height) {
                auto const rows = p.m - row < k_height ? p.m - row : k_height;
                if (columns < k_width)
                    compute_rows<true>(tile, rows, edge);
                else
                    compute_rows<false>(tile, rows, edge);
                tile.a += rows * p.a.row;
                tile.out += rows * p.n;
            }
        }
    }
}

}  // namespace hopscotch
