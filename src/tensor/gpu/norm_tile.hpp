// SPDX-License-Identifier: Apache-2.0
// The common part of both passes of batch norm (norm_forward.cu, norm_backward.cu): how threads read rows, and how the sums
// of pieces are merged. The first kernel of a pass leaves the sums of every piece of rows. Each block of the second kernel
// merges those of its channels, always in the same order, and goes through the rows from the last to the first: the last
// ones are still in the device's cache.
#pragma once
#include <type_traits>

#include "tensor/gpu/launch_kernel.hpp"
#include "tensor/gpu/norm_kernels.hpp"

namespace hopscotch {
namespace {

constexpr std::uint32_t k_most_tile = 64;      // channels of a block
constexpr std::uint32_t k_rows_under_way = 4;  // loads of a thread, here and below
constexpr std::uint32_t k_pieces_under_way = 8;

template <class T, std::uint32_t width>
struct Elements {  // of one row, in one load or store
    alignas(sizeof(T) * width) T values[width];
};

template <class T, std::uint32_t width>
__device__ Elements<T, width> loaded(void const* matrix, std::size_t at) {
    auto const* const from = static_cast<T const*>(matrix) + at;
    Elements<T, width> out;
    if constexpr (sizeof out == sizeof(uint4)) {
        auto const bits = __ldg(reinterpret_cast<uint4 const*>(from));
        memcpy(&out, &bits, sizeof out);
    } else {
        using Word = std::conditional_t<sizeof out == 4, unsigned, unsigned short>;
        auto const bits = __ldg(reinterpret_cast<Word const*>(from));
        memcpy(&out, &bits, sizeof out);
    }
    return out;
}

template <class T, std::uint32_t width>
__device__ void store(void* matrix, std::size_t at, Elements<T, width> const& elements) {
    auto* const to = static_cast<T*>(matrix) + at;
    if constexpr (sizeof elements == sizeof(uint4)) {
        uint4 bits;
        memcpy(&bits, &elements, sizeof elements);
        *reinterpret_cast<uint4*>(to) = bits;
    } else {
        *to = elements.values[0];
    }
}

// The first channel of this thread.
template <std::uint32_t width>
__device__ std::uint32_t own_channel() {
    return (blockIdx.x * blockDim.x + threadIdx.x) * width;
}

// Where the k-th row of this thread begins, of its channels.
__device__ std::size_t place(NormCut const& cut, std::uint32_t k, std::uint32_t channel) {
    auto const row = cut.begin(blockIdx.y) + threadIdx.y + k * cut.lanes;
    return static_cast<std::size_t>(row) * cut.channels + channel;
}

template <std::uint32_t width, class Sum>
__device__ void store_piece(float* partial, NormCut const& cut, std::uint32_t channel, Sum const (&own)[width]) {
    if (threadIdx.y != 0 || channel >= cut.channels) return;
    auto* const to = reinterpret_cast<Sum*>(partial) + static_cast<std::size_t>(blockIdx.y) * cut.channels + channel;
    for (std::uint32_t i = 0; i < width; ++i) to[i] = own[i];
}

// A thread of the second stage: the channel whose pieces it merges, and which of them.
struct Merger {
    std::uint32_t thread, channel, part;
    __device__ explicit Merger(NormCut const& cut)
        : thread(threadIdx.y * blockDim.x + threadIdx.x),
          channel(blockIdx.x * cut.tile_channels() + thread % cut.tile_channels()),
          part(thread / cut.tile_channels()) {}
};

// Several loads are under way at a time.
template <class Sum, class Take>
__device__ void for_each_piece(float const* partial, NormCut const& cut, Merger const& me, Take const& take) {
    if (me.channel >= cut.channels) return;
    auto const* const from = reinterpret_cast<Sum const*>(partial) + me.channel;
    auto const step = cut.parts();
    for (auto first = me.part; first < cut.pieces; first += k_pieces_under_way * step) {
        Sum sums[k_pieces_under_way];
        for (std::uint32_t j = 0; j < k_pieces_under_way; ++j)
            if (auto const piece = first + j * step; piece < cut.pieces)
                sums[j] = from[static_cast<std::size_t>(piece) * cut.channels];
        for (std::uint32_t j = 0; j < k_pieces_under_way; ++j)
            if (auto const piece = first + j * step; piece < cut.pieces) take(piece, sums[j]);
    }
}

struct Launch {
    NormCut const& cut;
    cudaStream_t stream;

    template <class Pass>
    void operator()(void (*kernel)(Pass), Pass const& pass) const {
        launch_kernel("launching batch norm", kernel,
                      LaunchShape{dim3(cut.tiles, cut.pieces), dim3(cut.across, cut.lanes), stream}, pass);
    }
};

}  // namespace
}  // namespace hopscotch
