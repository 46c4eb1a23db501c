// SPDX-License-Identifier: Apache-2.0
// The fully connected layers of a network of the lean step.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/byte_view.hpp"
#include "model/lean/batch_norm.hpp"
#include "model/lean/group_calls.hpp"
#include "model/lean/lean_spec.hpp"
#include "model/lean/places.hpp"
#include "model/state/layout.hpp"

namespace hopscotch {

class DenseNetwork {
public:
    // has_layers_below: backward() returns the gradient of the input.
    DenseNetwork(DenseSpec spec, StateLayout const& layout, bool has_layers_below);

    // All as those of LeanNetwork.
    std::size_t memory_floats(std::int64_t rows) const;
    void bind(MutableBytes state, float* memory, std::int64_t rows);
    float const* evaluate(float const* x, std::int64_t rows, std::size_t slot);

    struct Noise {
        std::uint64_t key;        // of the dropout masks
        SumOverGroup const* sum;  // of batch statistics; null: of the own rows
    };
    float const* train(float const* x, std::int64_t rows, Noise const& noise);

    // Null if there are no layers below.
    float* backward(float* output_gradient, float* gradient, GradientReady const& ready);

private:
    struct Layer {
        std::int64_t in = 0, out = 0;
        ParameterPlace weight, bias;
        NormPlace norm = {};
    };
    struct Buffers {  // of a layer: [rows, out]
        float const* input;
        float *product, *activated, *mask, *output;  // product: normalised if the layer has a norm
    };
    float* parameters() const { return reinterpret_cast<float*>(state_.data()); }
    bool is_last(std::size_t layer) const { return layer + 1 == layers_.size(); }
    // g: the gradient of the layer's output, becomes that of its product.
    void back_to_product(std::size_t layer, float* g, float* gradient, GradientReady const& ready);
    void multiply_layer(std::size_t layer, float const* parameters, float const* x);

    std::int64_t widest_gradient() const;

    DenseSpec spec_;
    bool has_layers_below_;
    std::vector<Layer> layers_;
    std::vector<Buffers> buffers_;
    std::vector<LeanBatchNorm> norms_;
    float* gradients_[2] = {};  // [rows, widest_gradient()]
    MutableBytes state_;
    std::int64_t rows_ = 0;  // of the last pass
    SumOverGroup const* sum_ = nullptr;
};

}  // namespace hopscotch
