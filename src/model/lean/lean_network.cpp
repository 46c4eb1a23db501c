// SPDX-License-Identifier: Apache-2.0
#include "model/lean/lean_network.hpp"

#include "model/lean/elements.hpp"

namespace hopscotch {

LeanNetwork::LeanNetwork(LeanSpec const& spec, StateLayout const& layout)
    : dense_(spec.dense, layout, !spec.convolutions.empty()),
      dense_inputs_(spec.dense.widths.front()),
      dropout_(spec.image_dropout),
      dropout_layer_(static_cast<std::uint32_t>(spec.dense.names.size())) {
    if (!spec.convolutions.empty()) convolutions_.emplace(spec.image, spec.convolutions, layout);
}

std::size_t LeanNetwork::memory_floats(std::int64_t rows) {
    auto const images = convolutions_ ? convolutions_->memory_floats(rows) : 0;
    auto const dropped = dropout_ > 0 ? 2 * padded_floats(static_cast<std::size_t>(image_floats(rows))) : 0;
    return images + dropped + dense_.memory_floats(rows);
}

void LeanNetwork::bind(MutableBytes state, float* memory, std::int64_t rows) {
    if (convolutions_) {
        convolutions_->bind(state, memory, rows);
        memory += convolutions_->memory_floats(rows);
    }
    if (dropout_ > 0) {
        auto const floats = padded_floats(static_cast<std::size_t>(image_floats(rows)));
        mask_ = memory;
        kept_ = memory + floats;
        memory += 2 * floats;
    }
    dense_.bind(state, memory, rows);
}

float const* LeanNetwork::evaluate(float const* x, std::int64_t rows, std::size_t slot) {
    return dense_.evaluate(convolutions_ ? convolutions_->evaluate(x, rows, slot) : x, rows, slot);
}

float const* LeanNetwork::train(float const* x, std::int64_t rows, Noise const& noise) {
    rows_ = rows;
    if (convolutions_) x = convolutions_->train(x, rows, noise.sum);
    if (dropout_ > 0) {
        draw_mask(noise.key, dropout_layer_, dropout_, mask_, image_floats(rows));
        multiply_values(x, mask_, kept_, image_floats(rows));
        x = kept_;
    }
    return dense_.train(x, rows, noise);
}

void LeanNetwork::backward(float* output_gradient, float* gradient, GradientReady const& ready) {
    auto* const g = dense_.backward(output_gradient, gradient, ready);
    if (!convolutions_) return;
    if (dropout_ > 0) multiply_values(g, mask_, g, image_floats(rows_));
    convolutions_->backward(g, gradient, ready);
}

}  // namespace hopscotch
