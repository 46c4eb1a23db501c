// SPDX-License-Identifier: Apache-2.0
// The loops of a product, for vectors of any width. A file that includes them is compiled for one set of instructions. All
// is a template of that file's own vectors, so the linker never takes a copy that was compiled for other instructions.
#pragma once
#include <cstdint>

#include "model/lean/panel.hpp"
#include "model/lean/products.hpp"
#include "model/lean/tile.hpp"

namespace hopscotch {

// Panels of V::width columns of b are copied together. Tiles of `height` rows and V::width columns of the product stay in
// registers.
template <class V, int height>
class Tiles {
public:
    static void multiply(Product const& p) {
        compute_all<false>({p.m, p.n, p.k, p.a, p.b, {p.out, p.n, 1, p.first}, p.groups, p.more});
    }

    // As the product of the transposed factors: its few columns become few rows. For a left factor without groups.
    static void multiply_turned(Product const& p) {
        compute_all<true>({p.n, p.m, p.k, transposed(p.b), transposed(p.a), {p.out, 1, p.n, p.first}, {}, p.more});
    }

private:
    struct Factors {
        std::int64_t m, n, k;
        MatrixView a, b;
        TileResult result;
        ColumnGroups groups;
        bool more;
    };
    using Mask = typename V::Mask;

    template <bool turned>
    static void compute_panel(Tile<V> tile, std::int64_t m, Mask const& mask) {
        // About equally high: a low tile waits for its own sums.
        for (auto tiles = (m + height - 1) / height; tiles > 0; --tiles) {
            auto const rows = (m + tiles - 1) / tiles;
            m -= rows;
            tile.template compute<height, turned>(rows, mask);
            tile.a += rows * tile.a_row;
            tile.result.out += rows * tile.result.row;
            if (turned && tile.result.first != nullptr) tile.result.first += rows;
        }
    }

    // How many of the columns from k on a panel takes: whole groups, or a part of one.
    static std::int64_t depth_from(std::int64_t k, std::int64_t all, std::int64_t group) {
        constexpr auto most = Panel<V>::depth;
        auto const whole = group <= most ? most / (group > 0 ? group : 1) * group : group - k % group;
        auto const depth = whole < most ? whole : most;
        return depth < all - k ? depth : all - k;
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
            auto const group = f.groups.size == 0 ? f.k : f.groups.size;
            for (std::int64_t k = 0, depth = 0; k < f.k || k == 0; k += depth > 0 ? depth : 1) {
                depth = depth_from(k, f.k, group);
                MatrixView const b{f.b.data + k * f.b.row + column * f.b.column, f.b.row, f.b.column};
                Tile<V> tile{k == 0 ? f.a.data : f.a.data + k / group * f.groups.step + k % group * f.a.column,
                             f.a.row,
                             f.a.column,
                             depth,
                             group < depth ? group : depth,
                             f.groups.step - group * f.a.column,
                             panel.values,
                             V::width,
                             columns,
                             result,
                             f.more || k > 0};
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
