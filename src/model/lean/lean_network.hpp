// SPDX-License-Identifier: Apache-2.0
// Forward and backward pass of a network over a flat state, without tensors. It owns no weights. Its results depend on
// nothing but the state, the rows and the key of the noise.
#pragma once
#include <cstdint>
#include <optional>

#include "core/byte_view.hpp"
#include "model/lean/convolutions.hpp"
#include "model/lean/dense_network.hpp"
#include "model/lean/group_calls.hpp"
#include "model/lean/lean_spec.hpp"
#include "model/state/layout.hpp"

namespace hopscotch {

class LeanNetwork {
public:
    LeanNetwork(LeanSpec const& spec, StateLayout const& layout);

    // The floats that passes over this many rows need.
    std::size_t memory_floats(std::int64_t rows);

    // Before passes over at most this many rows. Both must outlive them. memory: 64-byte aligned.
    void bind(MutableBytes state, float* memory, std::int64_t rows);

    // [rows, outputs], valid until the next pass. x: [rows, inputs]. slot: floats from the parameters to the averaged ones;
    // 0: the trained ones.
    float const* evaluate(float const* x, std::int64_t rows, std::size_t slot);

    using Noise = DenseNetwork::Noise;
    float const* train(float const* x, std::int64_t rows, Noise const& noise);

    // Of the last train(). output_gradient: is changed. gradient: laid out like the parameters.
    void backward(float* output_gradient, float* gradient, GradientReady const& ready);

private:
    std::int64_t image_floats(std::int64_t rows) const { return rows * dense_inputs_; }

    std::optional<Convolutions> convolutions_;
    DenseNetwork dense_;
    std::int64_t dense_inputs_;
    double dropout_;  // of the images
    std::uint32_t dropout_layer_;
    float *mask_ = nullptr, *kept_ = nullptr;  // [rows, inputs of the fully connected layers], with dropout of the images
    std::int64_t rows_ = 0;                    // of the last pass
};

}  // namespace hopscotch
