// SPDX-License-Identifier: Apache-2.0
// Clips a gradient and updates with it, by the lean step: the whole state, or a part of it on a parameter server.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "experiment/config.hpp"
#include "model/gpu/update_element.hpp"

namespace hopscotch {

struct StateLayout;

// Parameters, and slots laid out like them: slot k begins (k + 1) * stride floats after the parameters.
struct UpdatedFloats {
    float* parameters;
    std::size_t stride, decayed;  // decayed: floats at the beginning that weight decay applies to
};

class LeanUpdate {
public:
    LeanUpdate(TrainConfig const& train, StateLayout const& layout);

    // gradient: as long as the parameters; is clipped. step: the number of the update; counts from 1.
    void apply(UpdatedFloats const& floats, std::span<float> gradient, double lr, std::int64_t step) const;

private:
    void clip(std::span<float> gradient) const;

    TrainConfig train_;
    UpdateNumbers numbers_;
    std::vector<float * FlatUpdate::*> slots_;  // in their order; null: the step does not touch it
};

}  // namespace hopscotch
