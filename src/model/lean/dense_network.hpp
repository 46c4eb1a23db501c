// SPDX-License-Identifier: Apache-2.0
// Forward and backward pass of a fully connected network over a flat state, without tensors: `logistic` and `mlp` of the
// zoo. It owns no weights. Its results depend on nothing but the state, the rows and the key of the noise.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/byte_view.hpp"
#include "model/lean/batch_norm.hpp"
#include "model/lean/dense_spec.hpp"
#include "model/lean/group_calls.hpp"
#include "model/state/layout.hpp"

namespace hopscotch {

class DenseNetwork {
public:
    DenseNetwork(DenseSpec spec, StateLayout const& layout);

    // The floats that passes over this many rows need.
    std::size_t memory_floats(std::int64_t rows) const;

    // Before passes over at most this many rows. Both must outlive them. memory: 64-byte aligned.
    void bind(MutableBytes state, float* memory, std::int64_t rows);

    // [rows, outputs], valid until the next pass. x: [rows, inputs]. slot: floats from the parameters to the averaged ones;
    // 0: the trained ones.
    float const* evaluate(float const* x, std::int64_t rows, std::size_t slot);

    struct Noise {
        std::uint64_t key;        // of the dropout masks
        SumOverGroup const* sum;  // of batch statistics; null: of the own rows
    };
    float const* train(float const* x, std::int64_t rows, Noise const& noise);

    // Of the last train(). output_gradient: is changed. gradient: laid out like the parameters.
    void backward(float* output_gradient, float* gradient, GradientReady const& ready);

private:
    struct Place {  // of a parameter: floats from the start of the parameters, padding included
        std::size_t first = 0, end = 0;
    };
    struct Layer {
        std::int64_t in = 0, out = 0;
        Place weight, bias, norm_weight = {}, norm_bias = {};
        std::size_t mean = 0, variance = 0, batches = 0;  // bytes from the start of the state
    };
    struct Buffers {  // of a layer: [rows, out]
        float const* input;
        float *product, *activated, *mask, *output;  // product: normalised if the layer has a norm
    };
    float* parameters() const { return reinterpret_cast<float*>(state_.data()); }
    bool is_last(std::size_t layer) const { return layer + 1 == layers_.size(); }
    NormValues norm_values(std::size_t layer, float const* parameters) const;
    // g: the gradient of the layer's output, becomes that of its product.
    void back_to_product(std::size_t layer, float* g, float* gradient, GradientReady const& ready);
    void multiply_layer(std::size_t layer, float const* parameters, float const* x);

    DenseSpec spec_;
    std::vector<Layer> layers_;
    std::vector<Buffers> buffers_;
    std::vector<LeanBatchNorm> norms_;
    float* gradients_[2] = {};  // [rows, widest hidden layer]
    MutableBytes state_;
    std::int64_t rows_ = 0;  // of the last pass
    SumOverGroup const* sum_ = nullptr;
};

}  // namespace hopscotch
