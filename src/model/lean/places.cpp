// SPDX-License-Identifier: Apache-2.0
#include "model/lean/places.hpp"

namespace hopscotch {

ParameterPlace place_of(StateLayout const& layout, std::string const& parameter) {
    auto const& tensor = layout.find(parameter);
    return {tensor.offset / sizeof(float), padded_floats((tensor.offset + tensor.bytes) / sizeof(float))};
}

NormPlace norm_place_of(StateLayout const& layout, std::string const& norm) {
    return {place_of(layout, norm + ".weight"), place_of(layout, norm + ".bias"), layout.find(norm + ".running_mean").offset,
            layout.find(norm + ".running_var").offset, layout.find(norm + ".num_batches_tracked").offset};
}

NormValues NormPlace::values(float const* parameters, MutableBytes state) const {
    return {parameters + weight.first, parameters + bias.first, reinterpret_cast<float*>(state.data() + mean),
            reinterpret_cast<float*>(state.data() + variance), reinterpret_cast<std::int64_t*>(state.data() + batches)};
}

NormGradients NormPlace::gradients(float const* parameters, float const* normalised, float* gradient, float* into) const {
    return {parameters + weight.first, normalised, gradient, into + weight.first, into + bias.first};
}

}  // namespace hopscotch
