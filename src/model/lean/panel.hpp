// SPDX-License-Identifier: Apache-2.0
// Vectors of any width, and copies of a factor's columns in their width (tiles.hpp). Templates of a file's own vectors.
#pragma once
#include <cstdint>

#include "model/lean/products.hpp"
#include "model/lean/vectors.hpp"

namespace hopscotch {

// Two vectors as one.
template <class Half>
struct Twice {
    static constexpr std::int64_t width = 2 * Half::width;
    using Scalar = typename Half::Scalar;
    struct Mask {
        typename Half::Mask left, right;
        explicit Mask(std::int64_t columns) : left(columns), right(columns - Half::width) {}
    };
    Half left, right;

    static Twice all(float value) { return {Half::all(value), Half::all(value)}; }
    static Twice load(float const* from) { return {Half::load(from), Half::load(from + Half::width)}; }
    static Twice load(float const* from, Mask const& mask) {
        return {Half::load(from, mask.left), Half::load(from + Half::width, mask.right)};
    }
    void store(float* to) const {
        left.store(to);
        right.store(to + Half::width);
    }
    void store(float* to, Mask const& mask) const {
        left.store(to, mask.left);
        right.store(to + Half::width, mask.right);
    }
    static Scalar scalar(float const* from) { return Half::scalar(from); }
    void add(Scalar const& a, Twice const& b) {
        left.add(a, b.left);
        right.add(a, b.right);
    }
};

// Rows of V::width columns of the right factor. Columns that it does not have are 0.
template <class V>
struct Panel {
    static constexpr std::int64_t depth = 4096 / V::width;  // 16 KB
    alignas(64) float values[depth * V::width];

    void copy_rows(MatrixView const& b, std::int64_t rows, typename V::Mask const& mask) {
        auto const* from = b.data;
        for (std::int64_t k = 0; k < rows; ++k, from += b.row) V::load(from, mask).store(values + k * V::width);
    }

    void copy_columns(MatrixView const& b, std::int64_t rows, std::int64_t columns) {
        for (std::int64_t first = 0; first < V::width; first += 8) {
            auto const* const from = b.data + first * b.column;
            auto const blocks = first + 8 <= columns ? rows / 8 : 0;
            for (std::int64_t block = 0; block < blocks; ++block)
                turn(from + block * 8, b.column, values + block * 8 * V::width + first);
            for (std::int64_t k = blocks * 8; k < rows; ++k)
                for (std::int64_t j = 0; j < 8; ++j)
                    values[k * V::width + first + j] = first + j < columns ? from[j * b.column + k] : 0.0F;
        }
    }

private:
    // 8 columns of 8 values each become 8 rows of a panel.
    static void turn(float const* from, std::int64_t column, float* to) {
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
            _mm256_storeu_ps(to + i * V::width, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
            _mm256_storeu_ps(to + (i + 4) * V::width, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
        }
    }
};

}  // namespace hopscotch
