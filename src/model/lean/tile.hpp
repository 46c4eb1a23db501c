// SPDX-License-Identifier: Apache-2.0
// The part of a product whose sums stay in registers (tiles.hpp).
#pragma once
#include <cstdint>

namespace hopscotch {

// Where the result begins, and its strides. first: as Product::first; by rows if the product is turned.
struct TileResult {
    float* out;
    std::int64_t row, column;
    float const* first;
};

// Some rows of a product, and at most V::width columns.
template <class V>
struct Tile {
    float const* a;
    std::int64_t a_row, a_column, depth, group, between;  // between: from the end of a group to the next one
    float const* b;
    std::int64_t b_row, columns;
    TileResult result;
    bool more;  // continues the sums in out
    using Mask = typename V::Mask;

    // rows: 1 to `most`.
    template <int most, bool turned>
    void compute(std::int64_t rows, Mask const& mask) const {
        if constexpr (most > 1)
            if (rows < most) return compute<most - 1, turned>(rows, mask);
        if (columns == V::width)
            compute_rows<most, turned, true>(mask);
        else
            compute_rows<most, turned, false>(mask);
    }

private:
    // The sums of a row begin with these.
    template <bool turned, bool whole>
    V begin(std::int64_t i, Mask const& mask) const {
        auto const* const from = more ? result.out + i * result.row : result.first;
        if (from == nullptr) return V::all(0);
        if (!turned) return whole ? V::load(from) : V::load(from, mask);
        if (!more) return V::all(from[i]);
        float values[V::width] = {};
        for (std::int64_t j = 0; j < columns; ++j) values[j] = from[j * result.column];
        return V::load(values);
    }

    template <bool turned, bool whole>
    void end(std::int64_t i, Mask const& mask, V const& sums) const {
        auto* const to = result.out + i * result.row;
        if (turned) {
            float values[V::width];
            sums.store(values);
            for (std::int64_t j = 0; j < columns; ++j) to[j * result.column] = values[j];
        } else if (whole) {
            sums.store(to);
        } else {
            sums.store(to, mask);
        }
    }

    template <int rows, bool turned, bool whole>
    void compute_rows(Mask const& mask) const {
        V sums[rows];
        for (int i = 0; i < rows; ++i) sums[i] = begin<turned, whole>(i, mask);
        // A pointer for three rows of a high tile: else the compiler keeps the place of each row in memory.
        constexpr int together = rows > 6 ? 3 : rows, pointers = (rows + together - 1) / together;
        float const* left[pointers];
        for (int i = 0; i < pointers; ++i) left[i] = a + i * together * a_row;
        auto const* right = b;
        for (std::int64_t k = 0; k < depth; k += group) {
            for (std::int64_t j = 0; j < group; ++j, right += b_row) {
                auto const values = V::load(right);
                for (int i = 0; i < rows; ++i) sums[i].add(V::scalar(left[i / together] + i % together * a_row), values);
                for (auto& each : left) each += a_column;
            }
            for (auto& each : left) each += between;
        }
        for (int i = 0; i < rows; ++i) end<turned, whole>(i, mask, sums[i]);
    }
};

}  // namespace hopscotch
