// SPDX-License-Identifier: Apache-2.0
// Forward and backward pass of the convolutions before a fully connected network, over a flat state, without tensors.
// Within it the channels of a pixel lie together: then a window of an image is a few rows of floats, and a convolution a
// matrix product.
#pragma once
#include <cstdint>
#include <vector>

#include "core/byte_view.hpp"
#include "model/lean/group_calls.hpp"
#include "model/lean/lean_spec.hpp"
#include "model/lean/places.hpp"
#include "model/state/layout.hpp"

namespace hopscotch {

class Convolutions {
public:
    Convolutions(ImageSize image, std::vector<ConvolutionSpec> const& convolutions, StateLayout const& layout);

    std::size_t memory_floats(std::int64_t rows);
    // As DenseNetwork::bind().
    void bind(MutableBytes state, float* memory, std::int64_t rows);

    // x: [rows, channels, height, width]. The result likewise, of the last pooling; valid until the next pass.
    float const* evaluate(float const* x, std::int64_t rows, std::size_t slot);
    float const* train(float const* x, std::int64_t rows, SumOverGroup const* sum);

    // Of the last train(). gradient: of its result. into: laid out like the parameters.
    void backward(float const* gradient, float* into, GradientReady const& ready);

private:
    struct Layer {
        ConvolutionSizes sizes;
        std::int64_t kernel, padding;
        ParameterPlace weight, bias;
        NormPlace norm;
        std::int64_t frame_width() const { return sizes.input.width + 2 * padding; }
        std::int64_t frame_pixels() const { return frame_width() * (sizes.input.height + 2 * padding); }
        // From the first window of an image to the last one, those across its right edge included.
        std::int64_t windows() const { return (sizes.output.height - 1) * frame_width() + sizes.output.width; }
        std::int64_t window_floats() const { return kernel * kernel * sizes.input.channels; }
        // Pixels from the first one of a window to the last one.
        std::int64_t reach() const { return (kernel - 1) * (frame_width() + 1); }
        bool has_norm() const { return norm.weight.end > 0; }
    };
    struct Buffers {
        float* frames;              // [rows, frame], with zeros around each image
        float *weight, *turned;     // factors of the windows of the input, and of those of the gradient
        float *pooled, *activated;  // [rows, pooled, channels]; pooled: normalised if the layer has a norm
        float* pick_floats;         // likewise: the memory of picks()
        std::int32_t* picks() const { return reinterpret_cast<std::int32_t*>(pick_floats); }
    };
    struct Widest {  // floats of one image, of the layer that has most
        std::int64_t large = 0, weight = 0, image = 0, frame = 0;
    };
    Widest widest() const;
    template <class Take>
    void lay_out(std::int64_t rows, Take const& take);  // take(place, floats): each buffer
    void frame_images(float const* x);
    void frame_activated(std::size_t layer);
    void order_weights(std::size_t layer, float const* weight);
    void convolve(std::size_t layer, float const* parameters, bool keep_picks);
    void back_through(std::size_t layer, float const* g, float* weight_gradient);
    void back_to_input(std::size_t layer, std::int64_t row);
    float const* in_planes();
    float* parameters() const { return reinterpret_cast<float*>(state_.data()); }

    std::vector<Layer> layers_;
    std::vector<Buffers> buffers_;
    std::vector<LeanBatchNorm> norms_;  // of every layer
    float* large_ = nullptr;            // an image before pooling, or its gradient with zeros around it
    float *frame_gradient_ = nullptr, *weight_gradient_ = nullptr;
    float* gradients_[2] = {};  // [rows, pooled, channels]
    MutableBytes state_;
    std::int64_t rows_ = 0;  // of the last pass
    SumOverGroup const* sum_ = nullptr;
};

}  // namespace hopscotch
