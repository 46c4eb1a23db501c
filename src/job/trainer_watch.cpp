// SPDX-License-Identifier: Apache-2.0
#include "job/trainer_watch.hpp"

#include <algorithm>

#include "comm/peers.hpp"

namespace hopscotch {
namespace {

constexpr double k_memory_s = 30;  // older values have little weight

}  // namespace

std::vector<TrainerNow> TrainerWatch::look(Peers const& peers, double now_s) {
    double const passed_s = now_s - last_s_;
    // At first the mean of all looks, later a mean that forgets.
    double const weight = std::max(1.0 / static_cast<double>(++looks_), std::min(1.0, passed_s / k_memory_s));
    last_s_ = now_s;
    std::vector<TrainerNow> out;
    for (std::size_t t = 0; t < seen_.size(); ++t) {
        auto& seen = seen_[t];
        auto& now = out.emplace_back();
        Rank const rank(static_cast<int>(t) + 1);
        now.lost = peers.is_lost(rank);
        auto const beat = peers.last_heartbeat(rank);
        if (now.lost || !beat) continue;
        bool const works = beat->trial.value >= 0;
        seen.busy += ((works ? 1 : 0) - seen.busy) * weight;
        if (looks_ > 1 && passed_s > 0 && beat->batches >= seen.batches)
            seen.batches_per_s +=
                (static_cast<double>(beat->batches - seen.batches) / passed_s - seen.batches_per_s) * std::max(weight, 0.1);
        seen.batches = beat->batches;
        now.busy = seen.busy;
        now.batches_per_s = seen.batches_per_s;
        now.doing = name_of(beat->phase);
        if (!works) continue;
        now.trial = beat->trial.value;
        now.epoch = beat->epoch;
        now.shard = beat->shard.value;
    }
    return out;
}

}  // namespace hopscotch
