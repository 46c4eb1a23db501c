// SPDX-License-Identifier: Apache-2.0
// Forward: collect_moments, then write_values. Backward: collect_sums, then write_gradients. The first of each leaves the
// sums of every piece of rows, of which each block of the second merges those of its channels, always in the same order. The
// second goes through the rows from the last to the first: the last ones are still in the device's cache.
#include <type_traits>

#include "model/gpu/cuda_check.hpp"
#include "model/gpu/norm_kernels.hpp"

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

template <std::uint32_t width, class Sum>
__device__ void store_piece(float* partial, NormCut const& cut, std::uint32_t channel, Sum const (&own)[width]) {
    if (threadIdx.y != 0 || channel >= cut.channels) return;
    auto* const to = reinterpret_cast<Sum*>(partial) + static_cast<std::size_t>(blockIdx.y) * cut.channels + channel;
    for (std::uint32_t i = 0; i < width; ++i) to[i] = own[i];
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

__device__ NormChannel known_channel(NormBackward const& pass, std::uint32_t channel) {
    return {pass.mean[channel], times(pass.weight[channel], pass.inverse[channel]), pass.bias[channel]};
}

// The gradient behind the clip. y: what the clip was given, or what it gave.
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
        auto const inverse = pass.inverse[me.channel];
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

struct Launch {
    NormCut const& cut;
    cudaStream_t stream;

    template <class Kernel, class Pass>
    void operator()(Kernel const& kernel, Pass const& pass) const {
        kernel<<<dim3(cut.tiles, cut.pieces), dim3(cut.across, cut.lanes), 0, stream>>>(pass);
        check_cuda(cudaGetLastError(), "launching batch norm");
    }
};

template <class T, std::uint32_t width>
void launch_forward(NormForward const& pass, Launch const& launch) {
    if (pass.mean != nullptr) launch(collect_moments<T, width>, pass);
    launch(write_values<T, width>, pass);
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

void launch_norm(NormForward const& pass, cudaStream_t stream) {
    Launch const launch{pass.cut, stream};
    if (pass.type == FloatType::float32)
        return pass.cut.width == 4 ? launch_forward<float, 4>(pass, launch) : launch_forward<float, 1>(pass, launch);
    pass.cut.width == 8 ? launch_forward<Bf16, 8>(pass, launch) : launch_forward<Bf16, 1>(pass, launch);
}

void launch_norm(NormBackward const& pass, cudaStream_t stream) {
    Launch const launch{pass.cut, stream};
    if (pass.type == FloatType::float32)
        return pass.cut.width == 4 ? launch_backward<float, 4>(pass, launch) : launch_backward<float, 1>(pass, launch);
    pass.cut.width == 8 ? launch_backward<Bf16, 8>(pass, launch) : launch_backward<Bf16, 1>(pass, launch);
}

}  // namespace hopscotch
