// SPDX-License-Identifier: Apache-2.0
// The optimizer of a parameter server: updates one range of a trial's parameters and slots, cut out of its state, with the
// bits that Step::update gives the same range of a whole state.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/byte_view.hpp"
#include "model/state/state.hpp"

namespace hopscotch {

struct TrainConfig;

class PartUpdate {
public:
    struct Range {
        std::size_t first = 0, size = 0;  // floats of the flat parameters; first: a multiple of 16
    };
    // Always on the host, even if trainers use GPUs. Copies the range out of a state.
    PartUpdate(TrainConfig const& train, StateLayout const& layout, Range range, ByteView state);
    PartUpdate(PartUpdate&&) noexcept;
    ~PartUpdate();

    // Clips the gradient by value and updates; by norm only if the range is all parameters.
    void update(std::span<float> gradient, double lr, std::int64_t step);

    std::span<float const> parameters() const;
    int slots() const;
    std::span<float const> slot(int kind) const;
    Range range() const { return range_; }

private:
    struct Impl;
    Range range_;
    std::unique_ptr<Impl> impl_;
};

}  // namespace hopscotch
