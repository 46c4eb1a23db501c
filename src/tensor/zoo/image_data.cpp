// SPDX-License-Identifier: Apache-2.0
#include "tensor/zoo/image_data.hpp"

#include "core/json_reader.hpp"
#include "model/zoo/lean_specs.hpp"

namespace hopscotch {

std::optional<ImageShape> image_shape(ModelConfig const& model, DataSchema const& data, std::int64_t smallest,
                                      Problems& problems) {
    auto const size = image_size(model, data, smallest, problems);
    if (size.channels == 0) return std::nullopt;
    return ImageShape{size.channels, size.height, size.width};
}

}  // namespace hopscotch
