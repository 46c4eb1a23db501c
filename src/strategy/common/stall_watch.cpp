// SPDX-License-Identifier: Apache-2.0
#include "strategy/common/stall_watch.hpp"

namespace hopscotch {

StallWatch::StallWatch(std::size_t trainers, double stall_s, double now_s)
    : stall_s_(stall_s), worked_s_(now_s), progress_(trainers, {0, now_s}) {}

std::optional<StallWatch::Stall> StallWatch::look(std::span<TrainerSign const> trainers, double now_s) {
    std::optional<Stall> hangs, waits;
    for (std::size_t i = 0; i < trainers.size(); ++i) {
        auto const& [lost, idle, works, batches] = trainers[i];
        if (lost) continue;
        auto& [before, since_s] = progress_[i];
        if (idle || batches != before) {
            before = batches;
            since_s = now_s;
        }
        if (!idle && works) worked_s_ = now_s;
        if (now_s - since_s <= stall_s_) continue;
        auto& first = works ? hangs : waits;
        if (!first) first = {i, now_s - since_s, works};
    }
    if (hangs) return hangs;
    return now_s - worked_s_ > stall_s_ ? waits : std::nullopt;
}

}  // namespace hopscotch
