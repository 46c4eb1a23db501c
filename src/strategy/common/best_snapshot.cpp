// SPDX-License-Identifier: Apache-2.0
#include "strategy/common/best_snapshot.hpp"

#include <cmath>
#include <cstring>

namespace hopscotch {

void BestSnapshot::consider(LapRecord const& record, LossKind loss, MutableBytes state, BufferPool& pool) {
    auto const value = metric_value(metrics_of(record, loss), metric_);
    if (record.outcome != Outcome::finished || !std::isfinite(value)) return;
    bool const tie = snapshot_ && value == value_;
    bool const earlier = std::pair(record.trial, record.epoch) < std::pair(trial_, epoch_);
    if (snapshot_ && !(tie ? earlier : better(value, value_, mode_))) return;
    if (!snapshot_ || snapshot_.bytes().size() != state.size()) snapshot_ = pool.acquire(state.size());
    std::memcpy(snapshot_.bytes().data(), state.data(), state.size());
    trial_ = record.trial;
    epoch_ = record.epoch;
    value_ = value;
}

Buffer BestSnapshot::copy(BufferPool& pool) const {
    auto out = pool.acquire(snapshot_.bytes().size());
    std::memcpy(out.bytes().data(), snapshot_.bytes().data(), out.bytes().size());
    return out;
}

}  // namespace hopscotch
