// SPDX-License-Identifier: Apache-2.0
// Batch norm backward: collect_sums, then write_gradients.
#include "tensor/gpu/norm_tile.hpp"

namespace hopscotch {
namespace {

// Merges the lanes of a block into lane 0: of two halves the second into the first, and so on. lanes: a power of two.
template <std::uint32_t width>
__device__ void merge_lanes(GradientSums (&own)[width], std::uint32_t lanes) {
    __shared__ GradientSums shared[width][k_norm_threads / 2];
    for (auto half = lanes / 2; half > 0; half /= 2) {
        auto const slot = (threadIdx.y & (half - 1)) * blockDim.x + threadIdx.x;
        __syncthreads();
        if (threadIdx.y >= half && threadIdx.y < 2 * half)
            for (std::uint32_t i = 0; i < width; ++i) shared[i][slot] = own[i];
        __syncthreads();
        if (threadIdx.y >= half) continue;
        for (std::uint32_t i = 0; i < width; ++i) own[i] = merged(own[i], shared[i][slot]);
    }
}

// Of all rows, in the threads with part 0.
__device__ GradientSums merged_pieces(NormBackward const& pass, Merger const& me) {
    __shared__ GradientSums shared[k_norm_threads];
    auto const& cut = pass.cut;
    GradientSums own{};
    for_each_piece<GradientSums>(pass.partial, cut, me,
                                 [&](std::uint32_t, GradientSums const& other) { own = merged(own, other); });
    for (auto half = cut.parts() / 2; half > 0; half /= 2) {
        shared[me.thread] = own;
        __syncthreads();
        if (me.part < half) own = merged(own, shared[me.thread + half * cut.tile_channels()]);
        __syncthreads();
    }
    return own;
}

__device__ NormChannel known_channel(NormBackward const& pass, std::uint32_t channel) {
    return {pass.channel.mean[channel], times(pass.channel.weight[channel], pass.channel.inverse[channel]),
            pass.channel.bias[channel]};
}

// The gradient after the clip. y: the input of the clip, or its output.
template <NormMask mask>
__device__ float passed(NormBackward const& pass, float gradient, float x, float y, NormChannel const& channel) {
    if constexpr (mask == NormMask::none) return gradient;
    return passed_by(pass.bounds, mask == NormMask::stored ? y : normalised(x, channel), gradient);
}

template <class T, std::uint32_t width, NormMask mask>
__global__ void __launch_bounds__(k_norm_threads, 2) collect_sums(NormBackward const pass) {
    auto const& cut = pass.cut;
    auto const channel = own_channel<width>();
    auto const rows = channel < cut.channels ? cut.rows_of(blockIdx.y, threadIdx.y) : 0;
    NormChannel channels[width];
    for (std::uint32_t i = 0; rows > 0 && i < width; ++i) channels[i] = known_channel(pass, channel + i);
    GradientSums own[width] = {};
#pragma unroll 2
    for (std::uint32_t k = 0; k < rows; ++k) {
        auto const at = place(cut, k, channel);
        auto const x = loaded<T, width>(pass.x, at), gradient = loaded<T, width>(pass.gradient, at);
        auto const y = mask == NormMask::stored ? loaded<T, width>(pass.y, at) : x;
        Elements<T, width> out;
        for (std::uint32_t i = 0; i < width; ++i) {
            auto const value = widened(x.values[i]);
            auto const g = passed<mask>(pass, widened(gradient.values[i]), value, widened(y.values[i]), channels[i]);
            own[i] = with_gradient(own[i], g, plus(value, -channels[i].mean));
            if (mask == NormMask::stored) narrow(g, out.values[i]);
        }
        if (mask == NormMask::stored) store(pass.passed, at, out);
    }
    merge_lanes(own, cut.lanes);
    store_piece(pass.partial, cut, channel, own);
}

__device__ void prepare_slopes(NormBackward const& pass, NormSlope* slopes) {
    Merger const me(pass.cut);
    auto const all = merged_pieces(pass, me);
    if (me.part == 0 && me.channel < pass.cut.channels) {
        auto const inverse = pass.channel.inverse[me.channel];
        slopes[me.thread] = norm_slope(all, static_cast<float>(pass.cut.rows), inverse);
        if (blockIdx.y == 0) {
            pass.weight_gradient[me.channel] = times(all.product, inverse);
            pass.bias_gradient[me.channel] = all.gradient;
        }
    }
    __syncthreads();
}

template <class T, std::uint32_t width, NormMask mask>
__global__ void __launch_bounds__(k_norm_threads, 2) write_gradients(NormBackward const pass) {
    __shared__ NormSlope slopes[k_most_tile];
    prepare_slopes(pass, slopes);
    auto const& cut = pass.cut;
    auto const channel = own_channel<width>();
    if (channel >= cut.channels) return;
    NormChannel channels[width];
    NormSlope own[width];
    for (std::uint32_t i = 0; i < width; ++i) {
        channels[i] = known_channel(pass, channel + i);
        own[i] = slopes[threadIdx.x * width + i];
    }
#pragma unroll 1  // its registers are full
    for (auto k = cut.rows_of(blockIdx.y, threadIdx.y); k > 0; --k) {
        auto const at = place(cut, k - 1, channel);
        auto const x = loaded<T, width>(pass.x, at), gradient = loaded<T, width>(pass.gradient, at);
        Elements<T, width> out;
        for (std::uint32_t i = 0; i < width; ++i) {
            auto const value = widened(x.values[i]);
            auto const g = passed<mask>(pass, widened(gradient.values[i]), value, 0, channels[i]);
            narrow(input_gradient(g, value, channels[i], own[i]), out.values[i]);
        }
        store(pass.x_gradient, at, out);
    }
}

template <class T, std::uint32_t width>
void launch_backward(NormBackward const& pass, Launch const& launch) {
    if (pass.mask == NormMask::none) {
        launch(collect_sums<T, width, NormMask::none>, pass);
        launch(write_gradients<T, width, NormMask::none>, pass);
    } else if (pass.mask == NormMask::computed) {
        launch(collect_sums<T, width, NormMask::computed>, pass);
        launch(write_gradients<T, width, NormMask::computed>, pass);
    } else {
        launch(collect_sums<T, width, NormMask::stored>, pass);
        auto second = pass;
        second.gradient = pass.passed;
        launch(write_gradients<T, width, NormMask::none>, second);
    }
}

}  // namespace

void launch_norm(NormBackward const& pass, cudaStream_t stream) {
    Launch const launch{pass.cut, stream};
    if (pass.type == FloatType::float32)
        return pass.cut.width == 4 ? launch_backward<float, 4>(pass, launch) : launch_backward<float, 1>(pass, launch);
    pass.cut.width == 8 ? launch_backward<Bf16, 8>(pass, launch) : launch_backward<Bf16, 1>(pass, launch);
}

}  // namespace hopscotch
