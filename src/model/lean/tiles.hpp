// SPDX-License-Identifier: Apache-2.0
// The loops of a product, for vectors of any width. A file that includes them is compiled for one set of instructions. All
// is a template of that file's own vectors, so the linker never takes a copy that was compiled for other instructions.
#pragma once
#include <cstdint>

#include "model/lean/panel.hpp"
#include "model/lean/products.hpp"

namespace hopscotch {

// Panels of V::width columns of b are copied together. Tiles of `height` rows and V::width columns of the product stay in
// registers.
template <class V, int height>
class Tiles {
public:
    static void multiply(Product const& p) { compute_all<false>({p.m, p.n, p.k, p.a, p.b, {p.out, p.n, 1, p.first}}); }

    // As the product of the transposed factors: its few columns become few rows.
    static void multiply_turned(Product const& p) {
        compute_all<true>({p.n, p.m, p.k, transposed(p.b), transposed(p.a), {p.out, 1, p.n, p.first}});
    }

private:
    // Where the result begins, and its strides. first: as Product::first; by rows if the product is turned.
    struct Result {
        float* out;
        std::int64_t row, column;
        float const* first;
    };
    struct Factors {
        std::int64_t m, n, k;
        MatrixView a, b;
        Result result;
    };
    struct Tile {
        float const* a;
        std::int64_t a_row, a_column, depth;
        float const* b;
        std::int64_t b_row, columns;
        Result result;
        bool more;  // continues the sums in out
    };
    using Mask = typename V::Mask;

    // The sums of a row begin with these.
    template <bool turned, bool whole>
    static V begin(Tile const& tile, std::int64_t i, Mask const& mask) {
        auto const& result = tile.result;
        auto const* const from = tile.more ? result.out + i * result.row : result.first;
        if (from == nullptr) return V::all(0);
        if (!turned) return whole ? V::load(from) : V::load(from, mask);
        if (!tile.more) return V::all(from[i]);
        float values[V::width] = {};
        for (std::int64_t j = 0; j < tile.columns; ++j) values[j] = from[j * result.column];
        return V::load(values);
    }

    template <bool turned, bool whole>
    static void end(Tile const& tile, std::int64_t i, Mask const& mask, V const& sums) {
        auto* const to = tile.result.out + i * tile.result.row;
        if (turned) {
            float values[V::width];
            sums.store(values);
            for (std::int64_t j = 0; j < tile.columns; ++j) to[j * tile.result.column] = values[j];
        } else if (whole) {
            sums.store(to);
        } else {
            sums.store(to, mask);
        }
    }

    template <int rows, bool turned, bool whole>
    static void compute(Tile const& tile, Mask const& mask) {
        V sums[rows];
        for (int i = 0; i < rows; ++i) sums[i] = begin<turned, whole>(tile, i, mask);
        auto const* a = tile.a;
        auto const* b = tile.b;
        for (std::int64_t k = 0; k < tile.depth; ++k, a += tile.a_column, b += tile.b_row) {
            auto const values = V::load(b);
            for (int i = 0; i < rows; ++i) sums[i].add(V::scalar(a + i * tile.a_row), values);
        }
        for (int i = 0; i < rows; ++i) end<turned, whole>(tile, i, mask, sums[i]);
    }

    // rows: 1 to `most`.
    template <int most, bool turned>
    static void compute_rows(Tile const& tile, std::int64_t rows, Mask const& mask) {
        if constexpr (most > 1)
            if (rows < most) return compute_rows<most - 1, turned>(tile, rows, mask);
        if (tile.columns == V::width)
            compute<most, turned, true>(tile, mask);
        else
            compute<most, turned, false>(tile, mask);
    }

    template <bool turned>
    static void compute_panel(Tile tile, std::int64_t m, Mask const& mask) {
        for (std::int64_t row = 0; row < m; row += height) {
            auto const rows = m - row < height ? m - row : height;
            compute_rows<height, turned>(tile, rows, mask);
            tile.a += rows * tile.a_row;
            tile.result.out += rows * tile.result.row;
            if (turned && tile.result.first != nullptr) tile.result.first += rows;
        }
    }

    template <bool turned>
    static void compute_all(Factors const& f) {
        Panel<V> panel;
        for (std::int64_t column = 0; column < f.n; column += V::width) {
            auto const columns = f.n - column < V::width ? f.n - column : V::width;
            Mask const mask(columns);
            auto result = f.result;
            result.out += column * result.column;
            if (!turned && result.first != nullptr) result.first += column;
            for (std::int64_t k = 0; k < f.k || k == 0; k += Panel<V>::depth) {
                auto const depth = f.k - k < Panel<V>::depth ? f.k - k : Panel<V>::depth;
                MatrixView const b{f.b.data + k * f.b.row + column * f.b.column, f.b.row, f.b.column};
                Tile tile{
                    f.a.data + k * f.a.column, f.a.row, f.a.column, depth, panel.values, V::width, columns, result, k > 0};
                if (b.column != 1) {
                    panel.copy_columns(b, depth, columns);
                } else if (columns < V::width || f.m > height) {
                    panel.copy_rows(b, depth, mask);
                } else {  // one row of tiles would read a copy once
                    tile.b = b.data;
                    tile.b_row = b.row;
                }
                compute_panel<turned>(tile, f.m, mask);
            }
        }
    }
};

}  // namespace hopscotch
