// SPDX-License-Identifier: Apache-2.0
#include "strategy/together/sync_statistics.hpp"

#include <algorithm>
#include <cstring>

#include "core/byte_view.hpp"
#include "core/error.hpp"
#include "experiment/strategy_config.hpp"
#include "model/trial/training_pass.hpp"
#include "strategy/together/group.hpp"

namespace hopscotch {

SyncStatistics::SyncStatistics(Group& group, TrainingPass& training, NormStatistics statistics)
    : group_(group), training_(training), on_(statistics == NormStatistics::sync && group.size() > 1) {
    if (on_) training_.sum_with([this](std::span<double> values) { sum(values); });
}

SyncStatistics::~SyncStatistics() {
    if (on_) training_.sum_with({});
}

// In rank order, so that all get the same bits.
void SyncStatistics::sum(std::span<double> values) {
    if (broken_) return;
    try {
        auto const bytes = std::as_bytes(values);
        auto const all = group_.share(Bytes(bytes.begin(), bytes.end()), what_);
        std::ranges::fill(values, 0);
        for (auto const& each : all) {
            if (each.empty()) continue;
            require(each.size() == bytes.size(), "trainers add different batch statistics (not the same model?)");
            for (std::size_t i = 0; i < values.size(); ++i) {
                double term = 0;
                std::memcpy(&term, each.data() + i * sizeof term, sizeof term);
                values[i] += term;
            }
        }
    } catch (...) {
        broken_ = std::current_exception();
    }
}

void SyncStatistics::end_step() {
    if (!on_) return;
    if (broken_) std::rethrow_exception(broken_);
    while (std::ranges::any_of(group_.share({}, what_), [](Bytes const& each) { return !each.empty(); })) {
    }
}

}  // namespace hopscotch
