// SPDX-License-Identifier: Apache-2.0
// Batch norm forward: collect_moments, then write_values.
#include "tensor/gpu/norm_tile.hpp"

namespace hopscotch {
namespace {

// Merges the lanes of a block into lane 0: of two halves the second into the first, and so on. lanes: a power of two.
template <std::uint32_t width>
__device__ void merge_lanes(NormMoments (&own)[width], float count, std::uint32_t lanes) {
    __shared__ NormMoments shared[width][k_norm_threads / 2];
    __shared__ float counts[k_norm_threads / 2];
    for (auto half = lanes / 2; half > 0; half /= 2) {
        auto const slot = (threadIdx.y & (half - 1)) * blockDim.x + threadIdx.x;
        __syncthreads();
        if (threadIdx.y >= half && threadIdx.y < 2 * half) {
            for (std::uint32_t i = 0; i < width; ++i) shared[i][slot] = own[i];
            counts[slot] = count;
        }
        __syncthreads();
        if (threadIdx.y >= half) continue;
        auto const all = plus(count, counts[slot]), share = share_of(counts[slot], all);
        for (std::uint32_t i = 0; i < width; ++i) own[i] = merged(own[i], shared[i][slot], count, share);
        count = all;
    }
}

template <class T, std::uint32_t width>
__global__ void __launch_bounds__(k_norm_threads, 2) collect_moments(NormForward const pass) {
    auto const& cut = pass.cut;
    auto const channel = own_channel<width>();
    auto const rows = channel < cut.channels ? cut.rows_of(blockIdx.y, threadIdx.y) : 0;
    NormMoments own[width] = {};
    for (std::uint32_t k = 0; k < rows; k += k_rows_under_way) {
        Elements<T, width> x[k_rows_under_way];
        for (std::uint32_t j = 0; j < k_rows_under_way; ++j)
            if (k + j < rows) x[j] = loaded<T, width>(pass.x, place(cut, k + j, channel));
        for (std::uint32_t j = 0; j < k_rows_under_way; ++j) {
            if (k + j >= rows) break;
            auto const inverse = inverse_of(static_cast<float>(k + j + 1));
            for (std::uint32_t i = 0; i < width; ++i) own[i] = with_value(own[i], widened(x[j].values[i]), inverse);
        }
    }
    merge_lanes(own, static_cast<float>(cut.rows_of(blockIdx.y, threadIdx.y)), cut.lanes);
    store_piece(pass.partial, cut, channel, own);
}

// Of all rows, in the threads with part 0.
__device__ NormMoments merged_pieces(NormForward const& pass, Merger const& me) {
    __shared__ NormMoments shared[k_norm_threads];
    __shared__ float counts[k_norm_threads];
    auto const& cut = pass.cut;
    NormMoments own{};
    float count = 0;
    for_each_piece<NormMoments>(pass.partial, cut, me, [&](std::uint32_t piece, NormMoments const& other) {
        auto const size = static_cast<float>(cut.size(piece)), all = plus(count, size);
        own = merged(own, other, count, share_of(size, all));
        count = all;
    });
    for (auto half = cut.parts() / 2; half > 0; half /= 2) {
        shared[me.thread] = own;
        counts[me.thread] = count;
        __syncthreads();
        if (me.part < half) {
            auto const other = me.thread + half * cut.tile_channels();
            auto const all = plus(count, counts[other]);
            own = merged(own, shared[other], count, share_of(counts[other], all));
            count = all;
        }
        __syncthreads();
    }
    return own;
}

// Of one channel; first: of the rows' first block, which keeps what outlives the pass.
__device__ NormChannel trained_channel(NormForward const& pass, NormMoments const& all, std::uint32_t channel, bool first) {
    auto const count = static_cast<float>(pass.cut.rows);
    auto const inverse = inverse_deviation(over(all.squares, count));
    if (first) {
        pass.mean[channel] = all.mean;
        pass.inverse[channel] = inverse;
        pass.running_mean[channel] = running(pass.running_mean[channel], all.mean);
        pass.running_variance[channel] = running(pass.running_variance[channel], unbiased_variance(all.squares, count));
        if (channel == 0) ++*pass.batches;
    }
    return {all.mean, times(pass.weight[channel], inverse), pass.bias[channel]};
}

__device__ void prepare_channels(NormForward const& pass, NormChannel* channels) {
    Merger const me(pass.cut);
    bool const training = pass.mean != nullptr;
    auto const all = training ? merged_pieces(pass, me) : NormMoments{};
    if (me.part == 0 && me.channel < pass.cut.channels) {
        auto const c = me.channel;
        channels[me.thread] =
            training ? trained_channel(pass, all, c, blockIdx.y == 0)
                     : NormChannel{pass.running_mean[c], times(pass.weight[c], inverse_deviation(pass.running_variance[c])),
                                   pass.bias[c]};
    }
    __syncthreads();
}

template <class T, std::uint32_t width>
__global__ void __launch_bounds__(k_norm_threads, 2) write_values(NormForward const pass) {
    __shared__ NormChannel channels[k_most_tile];
    prepare_channels(pass, channels);
    auto const& cut = pass.cut;
    auto const channel = own_channel<width>();
    if (channel >= cut.channels) return;
    NormChannel own[width];
    for (std::uint32_t i = 0; i < width; ++i) own[i] = channels[threadIdx.x * width + i];
    bool const adds = pass.added != nullptr;
#pragma unroll 2
    for (auto k = cut.rows_of(blockIdx.y, threadIdx.y); k > 0; --k) {
        auto const at = place(cut, k - 1, channel);
        auto const x = loaded<T, width>(pass.x, at);
        auto const added = adds ? loaded<T, width>(pass.added, at) : Elements<T, width>{};
        Elements<T, width> y;
        for (std::uint32_t i = 0; i < width; ++i) {
            auto value = normalised(widened(x.values[i]), own[i]);
            if (adds) value = plus(value, widened(added.values[i]));
            narrow(clipped_to(pass.bounds, value), y.values[i]);
        }
        store(pass.y, at, y);
    }
}

template <class T, std::uint32_t width>
void launch_forward(NormForward const& pass, Launch const& launch) {
    if (pass.mean != nullptr) launch(collect_moments<T, width>, pass);
    launch(write_values<T, width>, pass);
}

}  // namespace

void launch_norm(NormForward const& pass, cudaStream_t stream) {
    Launch const launch{pass.cut, stream};
    if (pass.type == FloatType::float32)
        return pass.cut.width == 4 ? launch_forward<float, 4>(pass, launch) : launch_forward<float, 1>(pass, launch);
    pass.cut.width == 8 ? launch_forward<Bf16, 8>(pass, launch) : launch_forward<Bf16, 1>(pass, launch);
}

}  // namespace hopscotch
