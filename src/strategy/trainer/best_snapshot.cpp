// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/best_snapshot.hpp"

#include <cmath>
#include <cstring>

#include "rundir/metrics.hpp"

namespace hopscotch {

bool BestSnapshot::consider(LapRecord const& record, LossKind loss, ByteView state, BufferPool& pool) {
    auto const value = metric_value(metrics_of(record, loss), metric_);
    if (record.outcome != Outcome::finished || !std::isfinite(value)) return false;
    bool const tie = snapshot_ && value == value_;
    LapId const lap{record.trial, record.epoch};
    if (snapshot_ && !(tie ? lap < lap_ : better(value, value_, mode_))) return false;
    if (!snapshot_ || snapshot_.bytes().size() != state.size()) snapshot_ = pool.acquire(state.size());
    std::memcpy(snapshot_.bytes().data(), state.data(), state.size());
    lap_ = lap;
    value_ = value;
    return true;
}

Buffer BestSnapshot::copy(BufferPool& pool) const {
    auto out = pool.acquire(snapshot_.bytes().size());
    std::memcpy(out.bytes().data(), snapshot_.bytes().data(), out.bytes().size());
    return out;
}

}  // namespace hopscotch
