// SPDX-License-Identifier: Apache-2.0
#include "model/trial/lr_schedule.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "model/state/layout.hpp"

namespace hopscotch {
namespace {

constexpr double k_smallest_reduction = 1e-8;  // torch's eps: a smaller step down is not taken

// From `start` (done = 0) to `end` (done = 1).
double cosine(double start, double end, double done) {
    return end + (start - end) * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
}

// torch's OneCycleLR, two phases. Steps count from 0, so the last one is total - 1, and the peak is at part * total - 1.
double one_cycle(ScheduleConfig const& schedule, double peak, double step, double total) {
    double const first = peak / schedule.div_factor;
    double const last = first / schedule.final_div_factor;
    double const top = schedule.pct_start * total - 1;
    if (step <= top && top > 0) return cosine(first, peak, step / top);
    double const way = total - 1 - top;
    return way > 0 ? cosine(peak, last, std::min(1.0, (step - top) / way)) : peak;
}

double reduced(ScheduleConfig const& schedule, double peak, std::int64_t reductions) {
    double lr = peak;
    for (; reductions > 0; --reductions) {
        double const next = std::max(lr * schedule.factor, schedule.min_lr);
        if (lr - next <= k_smallest_reduction) break;
        lr = next;
    }
    return lr;
}

double milestones_passed(ScheduleConfig const& schedule, double epochs_seen) {
    auto const& all = schedule.milestones;
    return static_cast<double>(std::upper_bound(all.begin(), all.end(), epochs_seen) - all.begin());
}

// All but the plateau.
double planned_lr(TrainConfig const& train, double epochs_seen) {
    double const peak = train.optimizer.lr;
    auto const& schedule = train.schedule;
    double const done = std::min(1.0, epochs_seen / train.epochs);
    switch (schedule.kind) {
        case ScheduleKind::step: return peak * std::pow(schedule.gamma, std::floor(epochs_seen / schedule.step_epochs));
        case ScheduleKind::multistep: return peak * std::pow(schedule.gamma, milestones_passed(schedule, epochs_seen));
        case ScheduleKind::exponential: return peak * std::pow(schedule.gamma, epochs_seen);
        case ScheduleKind::cosine: return cosine(peak, schedule.min_lr, done);
        case ScheduleKind::polynomial:
            return schedule.min_lr + (peak - schedule.min_lr) * std::pow(1 - done, schedule.power);
        case ScheduleKind::constant:
        case ScheduleKind::one_cycle:  // by steps: the caller's
        case ScheduleKind::plateau: break;
    }
    return peak;
}

}  // namespace

double scheduled_lr(TrainConfig const& train, std::int64_t train_rows, std::int64_t samples, std::int64_t batch,
                    std::int64_t reductions) {
    auto const& schedule = train.schedule;
    double const epoch = static_cast<double>(std::max<std::int64_t>(train_rows, 1));
    double const before = static_cast<double>(samples);
    double lr = planned_lr(train, before / epoch);
    if (schedule.kind == ScheduleKind::one_cycle) lr = one_cycle(schedule, lr, before, epoch * train.epochs);
    if (schedule.kind == ScheduleKind::plateau) lr = reduced(schedule, lr, reductions);
    double const warmup_rows = schedule.warmup_epochs * epoch;
    double const seen = static_cast<double>(samples + batch);
    return seen < warmup_rows ? lr * (seen / warmup_rows) : lr;
}

double scheduled_lr(TrainConfig const& train, std::int64_t train_rows, Counters const& counters, std::int64_t batch,
                    std::int64_t ahead) {
    auto const reductions = counters.reductions == nullptr ? 0 : *counters.reductions;
    return scheduled_lr(train, train_rows, *counters.samples + ahead, batch, reductions);
}

void Plateau::observe(double loss, ScheduleConfig const& schedule) {
    if (std::isfinite(loss) && loss < best * (1 - schedule.threshold)) {
        best = loss;
        bad_epochs = 0;
    } else {
        ++bad_epochs;
    }
    if (bad_epochs <= schedule.patience) return;
    ++reductions;
    bad_epochs = 0;
}

bool observe_plateau(Counters const& counters, double loss, ScheduleConfig const& schedule) {
    if (counters.reductions == nullptr) return false;
    Plateau plateau{std::bit_cast<double>(*counters.plateau_best), *counters.bad_epochs, *counters.reductions};
    plateau.observe(loss, schedule);
    *counters.plateau_best = std::bit_cast<std::int64_t>(plateau.best);
    *counters.bad_epochs = plateau.bad_epochs;
    *counters.reductions = plateau.reductions;
    return true;
}

}  // namespace hopscotch
