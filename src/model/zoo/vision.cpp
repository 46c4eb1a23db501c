// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/vision.hpp"

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/max_pool2d.h>

namespace hopscotch {

Conv plain_conv(std::int64_t out, std::int64_t kernel, std::int64_t stride, std::int64_t groups) {
    return {.out = out,
            .kernel = kernel,
            .stride = stride,
            .padding = (kernel - 1) / 2,
            .groups = groups,
            .bias = false,
            .weight = Init::kaiming_fan_out()};
}

ConvNorm::ConvNorm(Scope const& conv_scope, Scope const& norm_scope, ImageShape& shape, Conv const& geometry)
    : conv(conv_scope, shape, geometry), norm(norm_scope, geometry.out) {}

void MaxPool::apply(ImageShape& shape) const {
    auto const side = [&](std::int64_t length) { return (length + 2 * padding - kernel) / stride + 1; };
    shape = {shape.channels, side(shape.height), side(shape.width)};
}

at::Tensor MaxPool::operator()(at::Tensor const& x) const {
    return at::max_pool2d(x, {kernel, kernel}, {stride, stride}, {padding, padding});
}

at::Tensor images_for(at::Tensor const& x, Pass const& pass) { return pass.channels_last ? x.contiguous(at::MemoryFormat::ChannelsLast) : x; }

at::Tensor average_of_image(at::Tensor const& x) { return at::adaptive_avg_pool2d(x, {1, 1}).flatten(1); }

}  // namespace hopscotch
