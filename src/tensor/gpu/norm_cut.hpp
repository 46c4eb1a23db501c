// SPDX-License-Identifier: Apache-2.0
// How the kernels of batch norm divide a matrix [rows, channels] among blocks and threads. A function of the shape alone, so
// that sums are added in one order on every device.
//   channels: tiles of `across` threads with `width` channels each; a block has one tile
//   rows:     `pieces`, one to a block; the `lanes` threads of a channel take every lanes-th row of the block's piece
#pragma once
#include <algorithm>
#include <cstdint>

#ifdef __CUDACC__
#define HOPSCOTCH_BOTH __host__ __device__
#else
#define HOPSCOTCH_BOTH
#endif

namespace hopscotch {

struct NormCut {
    std::uint32_t rows = 0, channels = 0;
    std::uint32_t width = 1, across = 1, lanes = 1;
    std::uint32_t tiles = 1, pieces = 1, piece_rows = 0;  // the last piece may be shorter

    HOPSCOTCH_BOTH std::uint32_t begin(std::uint32_t piece) const { return piece * piece_rows; }
    HOPSCOTCH_BOTH std::uint32_t size(std::uint32_t piece) const {
        auto const left = rows - piece * piece_rows;
        return left < piece_rows ? left : piece_rows;
    }
    HOPSCOTCH_BOTH std::uint32_t rows_of(std::uint32_t piece, std::uint32_t lane) const {
        return (size(piece) + lanes - 1 - lane) / lanes;
    }
    HOPSCOTCH_BOTH std::uint32_t tile_channels() const { return across * width; }
    // The second stage: this many threads merge the pieces of a channel, each every parts-th of them.
    HOPSCOTCH_BOTH std::uint32_t parts() const { return lanes / width; }
    std::size_t partial_floats() const { return std::size_t{2} * pieces * channels; }
};

inline constexpr std::uint32_t k_norm_threads = 512;
inline constexpr std::uint32_t k_norm_blocks = 264;  // two for each multiprocessor of an H100 or H200
inline constexpr std::uint32_t k_norm_least_rows =
    8;  // of a thread: below, merging the pieces would take longer than they do

// element_bytes: 2 or 4. rows < 2^31, channels > 0.
inline NormCut norm_cut(std::uint32_t rows, std::uint32_t channels, std::uint32_t element_bytes) {
    auto const up = [](std::uint32_t n, std::uint32_t step) { return (n + step - 1) / step; };
    NormCut cut;
    cut.rows = rows;
    cut.channels = channels;
    auto const widest = 16 / element_bytes;  // the longest load
    cut.width = channels % widest == 0 ? widest : 1;
    auto const most_across = cut.width > 1 ? 8U : 32U;  // 128 bytes of a row, or 32 elements
    while (cut.across < most_across && cut.across * cut.width < channels) cut.across *= 2;
    cut.lanes = k_norm_threads / cut.across;
    cut.tiles = up(channels, cut.tile_channels());
    auto const most = std::max(1U, k_norm_blocks / cut.tiles);
    auto const wanted = std::clamp(up(rows, cut.lanes * k_norm_least_rows), 1U, most);
    cut.piece_rows = std::max(1U, up(rows, wanted));
    cut.pieces = std::max(1U, up(rows, cut.piece_rows));
    return cut;
}

}  // namespace hopscotch

#undef HOPSCOTCH_BOTH
