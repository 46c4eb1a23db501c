// SPDX-License-Identifier: Apache-2.0
#include "direct/early_stop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hopscotch {

EarlyStop::EarlyStop(EarlyStopping const& rule, std::string metric, Mode mode)
    : rule_(rule), metric_(std::move(metric)), mode_(mode) {}

void EarlyStop::observe(int epoch, double value) {
    double const gain = mode_ == Mode::max ? value - best_ : best_ - value;
    if (!std::isfinite(value) || (best_epoch_ >= 0 && gain <= rule_.min_delta)) {
        ++bad_epochs_;
        return;
    }
    best_ = value;
    best_epoch_ = epoch;
    bad_epochs_ = 0;
}

int EarlyStop::certain_laps(int observed, int laps) const {
    return rule_.patience > 0 ? std::min(laps, observed + std::max(rule_.patience - bad_epochs_, 0)) : laps;
}

std::string EarlyStop::reason() const {
    auto const epochs = fmt::format("{} epoch{}", bad_epochs_, bad_epochs_ == 1 ? "" : "s");
    if (best_epoch_ < 0) return fmt::format("no finite {} for {}", metric_, epochs);
    return fmt::format("no better {} for {} (best {:.4g} in epoch {})", metric_, epochs, best_, best_epoch_);
}

}  // namespace hopscotch
