// SPDX-License-Identifier: Apache-2.0
#include "model/lr_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hopscotch {
namespace {

double base_lr(TrainConfig const& train, double epochs_seen) {
    double const peak = train.optimizer.lr;
    auto const& schedule = train.schedule;
    switch (schedule.kind) {
        case ScheduleKind::constant: return peak;
        case ScheduleKind::step: return peak * std::pow(schedule.gamma, std::floor(epochs_seen / schedule.step_epochs));
        case ScheduleKind::cosine: {
            double const done = std::min(1.0, epochs_seen / train.epochs);
            return schedule.min_lr + (peak - schedule.min_lr) * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
        }
    }
    return peak;
}

}  // namespace

double scheduled_lr(TrainConfig const& train, std::int64_t train_rows, std::int64_t samples, std::int64_t batch) {
    double const epoch = static_cast<double>(std::max<std::int64_t>(train_rows, 1));
    double const lr = base_lr(train, static_cast<double>(samples) / epoch);
    double const warmup_rows = train.schedule.warmup_epochs * epoch;
    double const seen = static_cast<double>(samples + batch);
    return seen < warmup_rows ? lr * (seen / warmup_rows) : lr;
}

}  // namespace hopscotch
