// SPDX-License-Identifier: Apache-2.0
#include "tensor/zoo/vision.hpp"

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/arange.h>
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

namespace {

// [side, length]: row i is the mean over window i, from floor(i length / side) up to ceil((i + 1) length / side). Nothing of
// it comes from the host, so that a graph can capture it.
at::Tensor window_means(std::int64_t side, std::int64_t length, at::Device device) {
    auto const whole = at::TensorOptions(device).dtype(at::kLong);
    auto const window = at::arange(side, whole).unsqueeze(1), place = at::arange(length, whole).unsqueeze(0);
    auto const first = window.mul(length).floor_divide(side);
    auto const end = window.add(1).mul(length).add(side - 1).floor_divide(side);
    auto const inside = place.ge(first).logical_and(place.lt(end)).to(at::kFloat);
    return inside.div(inside.sum(1, /*keepdim=*/true));
}

}  // namespace

at::Tensor average_pooled(at::Tensor const& x, std::int64_t side) {
    auto const along_rows = window_means(side, x.size(3), x.device()).t().to(x.scalar_type());
    auto const along_columns = window_means(side, x.size(2), x.device()).t().to(x.scalar_type());
    return x.matmul(along_rows).transpose(2, 3).matmul(along_columns).transpose(2, 3);
}

at::Tensor average_of_image(at::Tensor const& x) { return at::adaptive_avg_pool2d(x, {1, 1}).flatten(1); }

}  // namespace hopscotch
