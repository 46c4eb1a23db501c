// SPDX-License-Identifier: Apache-2.0
#include "tensor/zoo/image_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hopscotch {
namespace {

// Advice for users who imported images as flat rows: rows of 64 may well be 1x8x8.
std::string image_hint(std::vector<std::int64_t> const& shape) {
    auto const side = std::llround(std::sqrt(static_cast<double>(elements(shape))));
    return side * side == elements(shape) ? fmt::format("1x{}x{}", side, side) : "CxHxW";
}

}  // namespace

std::optional<ImageShape> image_shape(ModelConfig const& model, DataSchema const& data, std::int64_t smallest,
                                      Problems& problems) {
    if (data.shape.size() != 3) {
        complain_of_data(
            model,
            fmt::format("{} needs images of shape CxHxW (the dataset's rows have shape {}); import with --shape {}",
                        model.name, shape_text(data.shape), image_hint(data.shape)),
            problems);
        return std::nullopt;
    }
    if (std::min(data.shape[1], data.shape[2]) < smallest) {
        complain_of_data(model,
                         fmt::format("{0} needs images of at least {1}x{1} (the dataset's rows have shape {2}); use {3}",
                                     model.name, smallest, shape_text(data.shape),
                                     model.name == "lenet" ? "mlp" : "lenet or mlp"),
                         problems);
        return std::nullopt;
    }
    return ImageShape{data.shape[0], data.shape[1], data.shape[2]};
}

}  // namespace hopscotch
