// SPDX-License-Identifier: Apache-2.0
#include "model/lean/dense_network.hpp"

#include <algorithm>
#include <utility>

#include "model/lean/elements.hpp"
#include "model/lean/products.hpp"

namespace hopscotch {
namespace {

std::size_t padded(std::int64_t rows, std::int64_t columns) {
    return padded_floats(static_cast<std::size_t>(rows * columns));
}

}  // namespace

DenseNetwork::DenseNetwork(DenseSpec spec, StateLayout const& layout, bool has_layers_below)
    : spec_(std::move(spec)), has_layers_below_(has_layers_below) {
    for (std::size_t i = 0; i < spec_.names.size(); ++i) {
        auto const& name = spec_.names[i];
        Layer layer{.in = spec_.widths[i],
                    .out = spec_.widths[i + 1],
                    .weight = place_of(layout, name + ".weight"),
                    .bias = place_of(layout, name + ".bias")};
        if (spec_.batch_norm && i + 1 < spec_.names.size()) {
            layer.norm = norm_place_of(layout, "norms." + std::to_string(i));
            norms_.emplace_back(layer.out);
        }
        layers_.push_back(layer);
    }
    buffers_.resize(layers_.size());
}

std::int64_t DenseNetwork::widest_gradient() const {
    std::int64_t widest = has_layers_below_ ? layers_.front().in : 0;
    for (auto const& layer : layers_) widest = std::max(widest, layer.out);
    return widest;
}

// The buffers of a layer are one, unless a backward pass needs the values before and after an operation.
std::size_t DenseNetwork::memory_floats(std::int64_t rows) const {
    std::size_t floats = 0;
    for (auto const& layer : layers_) {
        auto const buffers = 1 + (spec_.batch_norm ? 1 : 0) + (spec_.dropout > 0 ? 2 : 0);
        floats += static_cast<std::size_t>(buffers) * padded(rows, layer.out);
    }
    return floats + 2 * padded(rows, widest_gradient());
}

void DenseNetwork::bind(MutableBytes state, float* memory, std::int64_t rows) {
    state_ = state;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        auto const take = [&](bool needed, float* otherwise) {
            return needed ? std::exchange(memory, memory + padded(rows, layers_[i].out)) : otherwise;
        };
        auto& buffers = buffers_[i];
        buffers.product = take(true, nullptr);
        buffers.activated = take(spec_.batch_norm, buffers.product);
        buffers.mask = take(spec_.dropout > 0, nullptr);
        buffers.output = take(spec_.dropout > 0, buffers.activated);
    }
    gradients_[0] = memory;
    gradients_[1] = memory + padded(rows, widest_gradient());
}

void DenseNetwork::multiply_layer(std::size_t layer, float const* parameters, float const* x) {
    auto const& l = layers_[layer];
    buffers_[layer].input = x;
    multiply({.m = rows_,
              .n = l.out,
              .k = l.in,
              .a = by_rows(x, l.in),
              .b = transposed(by_rows(parameters + l.weight.first, l.in)),
              .first = parameters + l.bias.first,
              .out = buffers_[layer].product});
}

float const* DenseNetwork::evaluate(float const* x, std::int64_t rows, std::size_t slot) {
    rows_ = rows;
    auto const* const values = parameters() + slot;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        multiply_layer(i, values, x);
        auto* const out = buffers_[i].product;
        x = out;
        if (is_last(i)) break;
        if (spec_.batch_norm) norms_[i].evaluate(layers_[i].norm.values(values, state_), rows, out);
        activate(spec_.activation, out, rows * layers_[i].out);
    }
    return x;
}

float const* DenseNetwork::train(float const* x, std::int64_t rows, Noise const& noise) {
    rows_ = rows;
    sum_ = noise.sum;
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        multiply_layer(i, parameters(), x);
        auto const& [input, product, activated, mask, output] = buffers_[i];
        if (is_last(i)) return product;
        auto const n = rows * layers_[i].out;
        if (spec_.batch_norm) norms_[i].train(layers_[i].norm.values(parameters(), state_), rows, product, activated, sum_);
        activate(spec_.activation, activated, n);
        if (spec_.dropout > 0) {
            draw_mask(noise.key, static_cast<std::uint32_t>(i), spec_.dropout, mask, n);
            multiply_values(activated, mask, output, n);
        }
        x = output;
    }
    return x;
}

float* DenseNetwork::backward(float* output_gradient, float* gradient, GradientReady const& ready) {
    auto* g = output_gradient;
    for (std::size_t i = layers_.size(); i-- > 0;) {
        auto const& layer = layers_[i];
        auto const output = by_rows(g, layer.out), input = by_rows(buffers_[i].input, layer.in);
        multiply({.m = layer.out,
                  .n = layer.in,
                  .k = rows_,
                  .a = transposed(output),
                  .b = input,
                  .out = gradient + layer.weight.first});
        sum_columns(g, rows_, layer.out, gradient + layer.bias.first);
        if (ready) ready(layer.bias.first, layer.bias.end);
        if (ready) ready(layer.weight.first, layer.weight.end);
        if (i == 0 && !has_layers_below_) break;
        auto* const below = gradients_[i % 2];
        multiply({.m = rows_,
                  .n = layer.in,
                  .k = layer.out,
                  .a = output,
                  .b = by_rows(parameters() + layer.weight.first, layer.in),
                  .out = below});
        g = below;
        if (i == 0) return g;
        back_to_product(i - 1, g, gradient, ready);
    }
    return nullptr;
}

void DenseNetwork::back_to_product(std::size_t layer, float* g, float* gradient, GradientReady const& ready) {
    auto const& l = layers_[layer];
    auto const& buffers = buffers_[layer];
    auto const n = rows_ * l.out;
    if (spec_.dropout > 0) multiply_values(g, buffers.mask, g, n);
    activate_backward(spec_.activation, buffers.activated, g, n);
    if (!spec_.batch_norm) return;
    norms_[layer].backward(l.norm.gradients(parameters(), buffers.product, g, gradient), rows_, sum_);
    if (ready) ready(l.norm.bias.first, l.norm.bias.end);
    if (ready) ready(l.norm.weight.first, l.norm.weight.end);
}

}  // namespace hopscotch
