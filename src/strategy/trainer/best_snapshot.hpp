// SPDX-License-Identifier: Apache-2.0
// The best epoch that this trainer has validated. The order is total (metric, then lower trial, then earlier epoch): the
// best of all trainers' bests is the best of the run, wherever a trial was validated.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "comm/buffer_pool.hpp"
#include "core/byte_view.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

enum class LossKind;
enum class Mode;

class BestSnapshot {
public:
    BestSnapshot(std::string metric, Mode mode) : metric_(std::move(metric)), mode_(mode) {}
    // True if this state is the best now; then it was copied.
    bool consider(LapRecord const& record, LossKind loss, ByteView state, BufferPool& pool);
    LapId const& lap() const { return lap_; }
    ByteView bytes() const { return snapshot_.bytes(); }
    bool holds(LapId const& lap) const { return snapshot_ && lap_ == lap; }
    Buffer copy(BufferPool& pool) const;

private:
    std::string metric_;
    Mode mode_;
    LapId lap_;
    double value_ = 0;
    Buffer snapshot_;
};

}  // namespace hopscotch
