// SPDX-License-Identifier: Apache-2.0
// The arithmetic of batch norm, then an addition and a clip, forward and backward: the body of the kernels in
// norm_forward.cu and norm_backward.cu, and of their test on a CPU. Every operation is rounded as written, so both give the
// same bits. Forward: y = clip((x - mean) / sqrt(variance + 1e-5) * weight + bias + added).
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#include <cuda_bf16.h>
#define HOPSCOTCH_BOTH __host__ __device__
#else
#define HOPSCOTCH_BOTH
#endif

namespace hopscotch {

inline constexpr float k_norm_epsilon = 1e-5F, k_norm_momentum = 0.1F;

// A GPU's compiler would fuse operations as it likes.
#ifdef __CUDA_ARCH__
__device__ inline float plus(float a, float b) { return __fadd_rn(a, b); }
__device__ inline float times(float a, float b) { return __fmul_rn(a, b); }
__device__ inline float over(float a, float b) { return __fdiv_rn(a, b); }
__device__ inline float inverse_of(float a) { return __frcp_rn(a); }
__device__ inline float root(float a) { return __fsqrt_rn(a); }
__device__ inline float times_plus(float a, float b, float c) { return __fmaf_rn(a, b, c); }  // rounded once
#else
HOPSCOTCH_BOTH inline float plus(float a, float b) { return a + b; }
HOPSCOTCH_BOTH inline float times(float a, float b) { return a * b; }
HOPSCOTCH_BOTH inline float over(float a, float b) { return a / b; }
HOPSCOTCH_BOTH inline float inverse_of(float a) { return 1 / a; }
HOPSCOTCH_BOTH inline float root(float a) { return std::sqrt(a); }
HOPSCOTCH_BOTH inline float times_plus(float a, float b, float c) { return std::fma(a, b, c); }
#endif

enum class FloatType : std::uint32_t { float32, bfloat16 };

struct Bf16 {  // bfloat16: the upper half of a float
    std::uint16_t bits = 0;
};

HOPSCOTCH_BOTH inline float widened(float x) { return x; }
HOPSCOTCH_BOTH inline float widened(Bf16 x) {
    auto const bits = static_cast<std::uint32_t>(x.bits) << 16;
    float out = 0;
    memcpy(&out, &bits, sizeof out);
    return out;
}

HOPSCOTCH_BOTH inline void narrow(float x, float& out) { out = x; }
HOPSCOTCH_BOTH inline void narrow(float x, Bf16& out) {  // to the nearest, of two the even one
#ifdef __CUDA_ARCH__
    out.bits = __bfloat16_as_ushort(__float2bfloat16_rn(x));
#else
    std::uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    out.bits = static_cast<std::uint16_t>(x != x ? 0x7FFFU : (bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
#endif
}

// The structs below have no initial values, as a GPU's shared memory has none. {} makes zeros.
// Of some values of a channel: their mean, and the sum of their squared distances from it.
struct NormMoments {
    float mean, squares;
};

// Welford 1962. inverse: 1 / number of values, x included.
HOPSCOTCH_BOTH inline NormMoments with_value(NormMoments m, float x, float inverse) {
    float const distance = plus(x, -m.mean);
    float const mean = times_plus(distance, inverse, m.mean);
    return {mean, times_plus(distance, plus(x, -mean), m.squares)};
}

HOPSCOTCH_BOTH inline float share_of(float count, float all) { return all == 0 ? 0 : over(count, all); }

// Chan, Golub and LeVeque 1979. share_of_b: of the values of both.
HOPSCOTCH_BOTH inline NormMoments merged(NormMoments a, NormMoments b, float count_of_a, float share_of_b) {
    float const distance = plus(b.mean, -a.mean);
    return {times_plus(distance, share_of_b, a.mean),
            times_plus(times(distance, distance), times(count_of_a, share_of_b), plus(a.squares, b.squares))};
}

HOPSCOTCH_BOTH inline float inverse_deviation(float variance) { return inverse_of(root(plus(variance, k_norm_epsilon))); }
HOPSCOTCH_BOTH inline float running(float before, float now) {
    return times_plus(k_norm_momentum, now, times(1 - k_norm_momentum, before));
}
HOPSCOTCH_BOTH inline float unbiased_variance(float squares, float count) {
    return over(squares, count > 1 ? count - 1 : 1);
}

struct NormChannel {
    float mean, scale, bias;  // scale: weight / deviation
};
HOPSCOTCH_BOTH inline float normalised(float x, NormChannel const& c) {
    return times_plus(plus(x, -c.mean), c.scale, c.bias);
}

struct Bounds {  // of a clip; infinite: there is none
    float low = -HUGE_VALF, high = HUGE_VALF;
};
// A NaN stays NaN, so that a diverging trial is noticed.
HOPSCOTCH_BOTH inline float clipped_to(Bounds bounds, float x) {
    return x < bounds.low ? bounds.low : x > bounds.high ? bounds.high : x;
}
// The gradient of the clip, as torch has it at the bounds.
HOPSCOTCH_BOTH inline float passed_by(Bounds bounds, float x, float gradient) {
    return x <= bounds.low || x >= bounds.high ? 0 : gradient;
}

// Backward: of some values of a channel, the sums of their gradients and of gradient x distance from the mean.
struct GradientSums {
    float gradient, product;
};
HOPSCOTCH_BOTH inline GradientSums with_gradient(GradientSums s, float gradient, float distance) {
    return {plus(s.gradient, gradient), times_plus(gradient, distance, s.product)};
}
HOPSCOTCH_BOTH inline GradientSums merged(GradientSums a, GradientSums b) {
    return {plus(a.gradient, b.gradient), plus(a.product, b.product)};
}

// The part of the gradient of x that comes through the mean and the variance.
struct NormSlope {
    float mean_gradient, slope;
};
HOPSCOTCH_BOTH inline NormSlope norm_slope(GradientSums all, float count, float inverse) {
    return {over(all.gradient, count), times(times(over(all.product, count), inverse), inverse)};
}
HOPSCOTCH_BOTH inline float input_gradient(float gradient, float x, NormChannel const& c, NormSlope const& s) {
    return times(times_plus(-plus(x, -c.mean), s.slope, plus(gradient, -s.mean_gradient)), c.scale);
}

}  // namespace hopscotch

#undef HOPSCOTCH_BOTH
