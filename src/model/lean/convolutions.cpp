// SPDX-License-Identifier: Apache-2.0
#include "model/lean/convolutions.hpp"

#include <algorithm>
#include <utility>

#include "model/lean/elements.hpp"
#include "model/lean/pooling.hpp"
#include "model/lean/products.hpp"

namespace hopscotch {
namespace {

std::size_t padded(std::int64_t floats) { return padded_floats(static_cast<std::size_t>(floats + k_pooling_slack)); }

// [rows, columns] becomes [columns, rows].
void transpose(float const* from, std::int64_t rows, std::int64_t columns, float* to) {
    for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t r = 0; r < rows; ++r) *to++ = from[r * columns + c];
}

}  // namespace

Convolutions::Convolutions(ImageSize image, std::vector<ConvolutionSpec> const& convolutions, StateLayout const& layout) {
    auto const sizes = sizes_of(image, convolutions);
    for (std::size_t i = 0; i < convolutions.size(); ++i) {
        auto const& spec = convolutions[i];
        Layer layer{.sizes = sizes[i],
                    .kernel = spec.kernel,
                    .padding = spec.padding,
                    .weight = place_of(layout, spec.name + ".weight"),
                    .bias = {},
                    .norm = {}};
        if (spec.norm.empty())
            layer.bias = place_of(layout, spec.name + ".bias");
        else
            layer.norm = norm_place_of(layout, spec.norm);
        layers_.push_back(layer);
        norms_.emplace_back(spec.channels);
    }
    buffers_.resize(layers_.size());
}

Convolutions::Widest Convolutions::widest() const {
    Widest out;
    for (auto const& layer : layers_) {
        auto const& [input, output, pooled] = layer.sizes;
        out.large = std::max(out.large, output.channels * (layer.frame_pixels() + layer.reach()));
        out.weight = std::max(out.weight, layer.window_floats() * output.channels);
        out.image = std::max(out.image, pooled.channels * pooled.pixels());
        out.frame = std::max(out.frame, input.channels * layer.frame_pixels());
    }
    return out;
}

template <class Take>
void Convolutions::lay_out(std::int64_t rows, Take const& take) {
    auto const most = widest();
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        auto const& layer = layers_[i];
        auto const& [input, output, pooled] = layer.sizes;
        auto const weights = layer.window_floats() * output.channels, results = rows * pooled.channels * pooled.pixels();
        auto& buffers = buffers_[i];
        take(buffers.frames, rows * layer.frame_pixels() * input.channels);
        take(buffers.weight, weights);
        take(buffers.turned, i > 0 ? weights : 0);
        take(buffers.pooled, results);
        take(buffers.activated, layer.has_norm() ? results : 0);
        if (!layer.has_norm()) buffers.activated = buffers.pooled;
        take(buffers.pick_floats, results);
    }
    take(large_, most.large);
    take(frame_gradient_, most.frame);
    take(weight_gradient_, most.weight);
    for (auto& each : gradients_) take(each, rows * most.image);
}

std::size_t Convolutions::memory_floats(std::int64_t rows) {
    std::size_t floats = 0;
    lay_out(rows, [&](float*&, std::int64_t n) { floats += padded(n); });
    return floats;
}

void Convolutions::bind(MutableBytes state, float* memory, std::int64_t rows) {
    state_ = state;
    lay_out(rows, [&](float*& place, std::int64_t n) { place = std::exchange(memory, memory + padded(n)); });
}

// [channels, pixels] of each row, as the pixels of frames.
void Convolutions::frame_images(float const* x) {
    auto const& layer = layers_.front();
    auto const& image = layer.sizes.input;
    auto const channels = image.channels, width = layer.frame_width();
    auto* frame = buffers_.front().frames;
    std::fill_n(frame, rows_ * layer.frame_pixels() * channels, 0.0F);
    for (std::int64_t row = 0; row < rows_; ++row, frame += layer.frame_pixels() * channels)
        for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t y = 0; y < image.height; ++y) {
                auto* to = frame + ((y + layer.padding) * width + layer.padding) * channels + c;
                for (std::int64_t i = 0; i < image.width; ++i, to += channels) *to = *x++;
            }
}

void Convolutions::frame_activated(std::size_t i) {
    auto const& layer = layers_[i];
    auto const& image = layer.sizes.input;
    auto const channels = image.channels, width = layer.frame_width();
    auto const* from = buffers_[i - 1].activated;
    auto* frame = buffers_[i].frames;
    if (layer.padding > 0) std::fill_n(frame, rows_ * layer.frame_pixels() * channels, 0.0F);
    for (std::int64_t row = 0; row < rows_; ++row, frame += layer.frame_pixels() * channels)
        for (std::int64_t y = 0; y < image.height; ++y, from += image.width * channels)
            std::copy_n(from, image.width * channels, frame + ((y + layer.padding) * width + layer.padding) * channels);
}

// The weights as factors: of the windows, and of the windows of the gradient, which see the kernel turned around.
void Convolutions::order_weights(std::size_t i, float const* weight) {
    auto const& layer = layers_[i];
    auto const in = layer.sizes.input.channels, out = layer.sizes.output.channels, taps = layer.kernel * layer.kernel;
    auto const& buffers = buffers_[i];
    for (std::int64_t o = 0; o < out; ++o)
        for (std::int64_t c = 0; c < in; ++c)
            for (std::int64_t tap = 0; tap < taps; ++tap, ++weight) {
                buffers.weight[(tap * in + c) * out + o] = *weight;
                if (i > 0) buffers.turned[((taps - 1 - tap) * out + o) * in + c] = *weight;
            }
}

void Convolutions::convolve(std::size_t i, float const* parameters, bool keep_picks) {
    auto const& layer = layers_[i];
    auto const& [input, output, pooled] = layer.sizes;
    auto const& buffers = buffers_[i];
    order_weights(i, parameters + layer.weight.first);
    Pooling const pooling{pooled.height, pooled.width, pooled.channels, layer.frame_width()};
    auto const floats = pooled.pixels() * pooled.channels;
    for (std::int64_t row = 0; row < rows_; ++row) {
        multiply({.m = layer.windows(),
                  .n = output.channels,
                  .k = layer.window_floats(),
                  .a = by_rows(buffers.frames + row * layer.frame_pixels() * input.channels, input.channels),
                  .b = by_rows(buffers.weight, output.channels),
                  .first = layer.has_norm() ? nullptr : parameters + layer.bias.first,
                  .out = large_,
                  .groups = {layer.kernel * input.channels, layer.frame_width() * input.channels}});
        max_pool(pooling, large_, buffers.pooled + row * floats, keep_picks ? buffers.picks() + row * floats : nullptr);
    }
}

float const* Convolutions::evaluate(float const* x, std::int64_t rows, std::size_t slot) {
    rows_ = rows;
    auto const* const values = parameters() + slot;
    frame_images(x);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        auto const& layer = layers_[i];
        auto* const out = buffers_[i].activated;
        if (i > 0) frame_activated(i);
        convolve(i, values, false);
        auto const pixels = rows * layer.sizes.pooled.pixels();
        if (layer.has_norm()) {
            std::copy_n(buffers_[i].pooled, pixels * layer.sizes.pooled.channels, out);
            norms_[i].evaluate(layer.norm.values(values, state_), pixels, out);
        }
        activate(Activation::relu, out, pixels * layer.sizes.pooled.channels);
    }
    return in_planes();
}

float const* Convolutions::train(float const* x, std::int64_t rows, SumOverGroup const* sum) {
    rows_ = rows;
    sum_ = sum;
    frame_images(x);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
        auto const& layer = layers_[i];
        auto const& buffers = buffers_[i];
        if (i > 0) frame_activated(i);
        convolve(i, parameters(), true);
        auto const pixels = rows * layer.sizes.pooled.pixels();
        if (layer.has_norm())
            norms_[i].train(layer.norm.values(parameters(), state_), pixels, buffers.pooled, buffers.activated, sum);
        activate(Activation::relu, buffers.activated, pixels * layer.sizes.pooled.channels);
    }
    return in_planes();
}

// The result as rows of a dataset lie: [channels, pixels].
float const* Convolutions::in_planes() {
    auto const& image = layers_.back().sizes.pooled;
    auto const floats = image.channels * image.pixels();
    for (std::int64_t row = 0; row < rows_; ++row)
        transpose(buffers_.back().activated + row * floats, image.pixels(), image.channels, gradients_[0] + row * floats);
    return gradients_[0];
}

void Convolutions::backward(float const* gradient, float* into, GradientReady const& ready) {
    auto const last = layers_.size() - 1;
    auto const& result = layers_[last].sizes.pooled;
    auto const floats = result.channels * result.pixels();
    for (std::int64_t row = 0; row < rows_; ++row)
        transpose(gradient + row * floats, result.channels, result.pixels(), gradients_[last % 2] + row * floats);
    for (std::size_t i = last + 1; i-- > 0;) {
        auto const& layer = layers_[i];
        auto const& buffers = buffers_[i];
        auto* const g = gradients_[i % 2];
        auto const& pooled = layer.sizes.pooled;
        auto const pixels = rows_ * pooled.pixels();
        activate_backward(Activation::relu, buffers.activated, g, pixels * pooled.channels);
        if (layer.has_norm()) {
            auto const& norm = layer.norm;
            norms_[i].backward(norm.gradients(parameters(), buffers.pooled, g, into), pixels, sum_);
            if (ready) ready(norm.bias.first, norm.bias.end);
            if (ready) ready(norm.weight.first, norm.weight.end);
        } else {
            sum_columns(g, pixels, pooled.channels, into + layer.bias.first);
            if (ready) ready(layer.bias.first, layer.bias.end);
        }
        back_through(i, g, into + layer.weight.first);
        if (ready) ready(layer.weight.first, layer.weight.end);
    }
}

// From the gradient of the pooled images to those of the weights and of the input.
void Convolutions::back_through(std::size_t i, float const* g, float* weight_gradient) {
    auto const& layer = layers_[i];
    auto const& [input, output, pooled] = layer.sizes;
    auto const in = input.channels, out = output.channels, width = layer.frame_width();
    Pooling const pooling{pooled.height, pooled.width, out, width};
    std::fill_n(large_, (layer.frame_pixels() + layer.reach()) * out, 0.0F);
    auto* const windows = large_ + layer.reach() * out;
    auto const floats = pooled.pixels() * out;
    for (std::int64_t row = 0; row < rows_; ++row) {
        spread_picked(pooling, g + row * floats, buffers_[i].picks() + row * floats, windows);
        auto const* const frame = buffers_[i].frames + row * layer.frame_pixels() * in;
        for (std::int64_t y = 0; y < layer.kernel; ++y)
            multiply({.m = layer.kernel * in,
                      .n = out,
                      .k = layer.windows(),
                      .a = {frame + y * width * in, 1, in},
                      .b = by_rows(windows, out),
                      .out = weight_gradient_ + y * layer.kernel * in * out,
                      .more = row > 0});
        if (i > 0) back_to_input(i, row);
    }
    auto const taps = layer.kernel * layer.kernel;
    for (std::int64_t o = 0; o < out; ++o)
        for (std::int64_t c = 0; c < in; ++c)
            for (std::int64_t tap = 0; tap < taps; ++tap) *weight_gradient++ = weight_gradient_[(tap * in + c) * out + o];
}

void Convolutions::back_to_input(std::size_t i, std::int64_t row) {
    auto const& layer = layers_[i];
    auto const& [input, output, pooled] = layer.sizes;
    auto const in = input.channels, out = output.channels, width = layer.frame_width();
    multiply({.m = (input.height - 1) * width + input.width,
              .n = in,
              .k = layer.kernel * layer.kernel * out,
              .a = by_rows(large_ + layer.padding * (width + 1) * out, out),
              .b = by_rows(buffers_[i].turned, in),
              .out = frame_gradient_,
              .groups = {layer.kernel * out, width * out}});
    auto* to = gradients_[(i - 1) % 2] + row * input.pixels() * in;
    for (std::int64_t y = 0; y < input.height; ++y, to += input.width * in)
        std::copy_n(frame_gradient_ + y * width * in, input.width * in, to);
}

}  // namespace hopscotch
