// SPDX-License-Identifier: Apache-2.0
// Where a layer's parameters and buffers lie in a state.
#pragma once
#include <cstddef>
#include <string>

#include "core/byte_view.hpp"
#include "model/lean/batch_norm.hpp"
#include "model/state/layout.hpp"

namespace hopscotch {

struct ParameterPlace {  // floats from the start of the parameters, padding included
    std::size_t first = 0, end = 0;
};
ParameterPlace place_of(StateLayout const& layout, std::string const& parameter);

struct NormPlace {
    ParameterPlace weight, bias;
    std::size_t mean = 0, variance = 0, batches = 0;  // bytes from the start of the state

    NormValues values(float const* parameters, MutableBytes state) const;
    // into: laid out like the parameters.
    NormGradients gradients(float const* parameters, float const* normalised, float* gradient, float* into) const;
};
NormPlace norm_place_of(StateLayout const& layout, std::string const& norm);

}  // namespace hopscotch
