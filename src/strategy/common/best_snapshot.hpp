// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "comm/buffer_pool.hpp"
#include "run/metrics.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

// The best epoch that this trainer has validated. A total order (metric, then lower trial, then earlier epoch), so that the
// best of all trainers' bests is the best of the run, whatever ended up where.
class BestSnapshot {
public:
    BestSnapshot(std::string metric, Mode mode) : metric_(std::move(metric)), mode_(mode) {}
    void consider(LapRecord const& record, LossKind loss, MutableBytes state, BufferPool& pool);
    TrialId trial() const { return trial_; }
    int epoch() const { return epoch_; }  // -1: nothing yet
    ByteView bytes() const { return snapshot_.bytes(); }
    bool holds(TrialId trial, int epoch) const { return snapshot_ && trial_ == trial && epoch_ == epoch; }
    Buffer copy(BufferPool& pool) const;

private:
    std::string metric_;
    Mode mode_;
    TrialId trial_;
    int epoch_ = -1;
    double value_ = 0;
    Buffer snapshot_;
};

}  // namespace hopscotch
