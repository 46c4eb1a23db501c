// SPDX-License-Identifier: Apache-2.0
// The common parts of the networks for images. They compute in channels-last order, in which convolutions and batch norm on
// one core take about a third less time; the weights lie in the state as everywhere, convolutions reorder them on the way.
#pragma once
#include <cstdint>

#include "tensor/network/chain.hpp"

namespace hopscotch {

// As torchvision's networks start a convolution that a batch norm follows: no bias, N(0, 2 / fan_out), sides kept at
// stride 1.
Conv plain_conv(std::int64_t out, std::int64_t kernel, std::int64_t stride = 1, std::int64_t groups = 1);

struct ConvNorm {
    Conv2d conv;
    BatchNorm norm;
    ConvNorm() = default;
    ConvNorm(Scope const& conv_scope, Scope const& norm_scope, ImageShape& shape,
             Conv const& geometry);  // shape: as Conv2d's
    at::Tensor operator()(at::Tensor const& x, Pass const& pass, AfterNorm const& after = {}) const {
        return norm(conv(x), pass, after);
    }
};

struct MaxPool {  // torch.nn.MaxPool2d with a square window
    std::int64_t kernel = 2, stride = 2, padding = 0;
    void apply(ImageShape& shape) const;
    at::Tensor operator()(at::Tensor const& x) const;
};

// torch's adaptive average pooling to side x side, as two products: on a GPU its own gradient adds up in any order.
at::Tensor average_pooled(at::Tensor const& x, std::int64_t side);
at::Tensor average_of_image(at::Tensor const& x);  // [rows, channels, height, width] -> [rows, channels]

}  // namespace hopscotch
