// SPDX-License-Identifier: Apache-2.0
// Memory of the lean step, shared by a trainer's models: it grows to the largest one, and nothing in it outlives a pass.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "model/state/layout.hpp"

namespace hopscotch {

// 64-byte aligned.
class GrowingFloats {
public:
    // At least this many. Old contents are lost when they grow.
    float* at_least(std::size_t floats) {
        if (floats <= size_) return values_.get();
        auto const bytes = (floats * sizeof(float) + k_state_alignment - 1) / k_state_alignment * k_state_alignment;
        values_.reset(static_cast<float*>(std::aligned_alloc(k_state_alignment, bytes)));
        size_ = values_ ? floats : 0;
        if (!values_) throw std::bad_alloc();
        return values_.get();
    }

private:
    struct Free {
        void operator()(float* values) const { std::free(values); }
    };
    std::unique_ptr<float, Free> values_;
    std::size_t size_ = 0;
};

struct LeanMemory {
    GrowingFloats gradient, accumulated;  // laid out like the parameters
    GrowingFloats features, targets, output_gradient, layers;
    std::vector<std::int64_t> labels;
};

}  // namespace hopscotch
