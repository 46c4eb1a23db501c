// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>

#include "model/zoo/arguments.hpp"
#include "tensor/network/layers.hpp"

namespace hopscotch {

// CxHxW of data that are images with both sides at least `smallest`; else complains at /model/name and returns nothing.
std::optional<ImageShape> image_shape(ModelConfig const& model, DataSchema const& data, std::int64_t smallest,
                                      Problems& problems);

}  // namespace hopscotch
