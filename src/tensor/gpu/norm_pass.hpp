// SPDX-License-Identifier: Apache-2.0
// The work of batch norm, followed by an addition and a clip, as plain pointers. Matrices are [rows, channels], row after
// row, at addresses that 16 divides; vectors are [channels].
#pragma once
#include <cstdint>

#include "tensor/gpu/norm_cut.hpp"
#include "tensor/gpu/norm_element.hpp"

namespace hopscotch {

struct NormForward {
    NormCut cut;
    FloatType type = FloatType::float32;
    void const* x = nullptr;
    void const* added = nullptr;  // null: nothing is added
    void* y = nullptr;
    float const *weight = nullptr, *bias = nullptr;
    Bounds bounds;
    float *running_mean = nullptr, *running_variance = nullptr;  // training updates them
    std::int64_t* batches = nullptr;                             // training counts them
    float *mean = nullptr, *inverse = nullptr;  // out, for the backward pass: of this batch; null: evaluation
    float* partial = nullptr;                   // [cut.partial_floats()]; not of an evaluation
};

// Which elements of the gradient the clip let pass. computed: x says it; stored: y says it, as something was added.
enum class NormMask { none, computed, stored };

// By channel, from the forward pass.
struct NormVectors {
    float const *weight = nullptr, *bias = nullptr, *mean = nullptr, *inverse = nullptr;
};

struct NormBackward {
    NormCut cut;
    FloatType type = FloatType::float32;
    NormMask mask = NormMask::none;
    void const *x = nullptr, *gradient = nullptr;
    void const* y = nullptr;  // with `stored`
    void* passed = nullptr;   // with `stored`: the gradient of `added`
    void* x_gradient = nullptr;
    NormVectors channel;
    Bounds bounds;
    float *weight_gradient = nullptr, *bias_gradient = nullptr;
    float* partial = nullptr;
};

}  // namespace hopscotch
