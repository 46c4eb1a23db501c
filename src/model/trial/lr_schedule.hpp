// SPDX-License-Identifier: Apache-2.0
// The learning rate of a step, a pure function of the rows seen so far: independent of batch size, trainers and history.
// At whole epochs the schedules are those of torch.optim.lr_scheduler; cosine, exponential and polynomial go on smoothly in
// between, one_cycle is torch's with a row as its step (and leaves the momentum alone).
#pragma once
#include <cstdint>
#include <limits>

#include "experiment/config.hpp"

namespace hopscotch {

struct Counters;

// samples: rows trained before this step; batch: rows of this step; train_rows: rows of one epoch; reductions: of a plateau.
// Warm-up multiplies: it reaches 1 with the step that completes warmup_epochs. Cosine and polynomial reach min_lr after
// train.epochs and stay there.
double scheduled_lr(TrainConfig const& train, std::int64_t train_rows, std::int64_t samples, std::int64_t batch,
                    std::int64_t reductions = 0);

// The same, of a state with these counters. ahead: rows of updates before this one that are not counted yet.
double scheduled_lr(TrainConfig const& train, std::int64_t train_rows, Counters const& counters, std::int64_t batch,
                    std::int64_t ahead = 0);

// When to reduce: torch's ReduceLROnPlateau (mode min, threshold_mode rel, cooldown 0). The state keeps the three numbers.
struct Plateau {
    double best = std::numeric_limits<double>::infinity();
    std::int64_t bad_epochs = 0, reductions = 0;

    // After every epoch. A loss that is not finite is never an improvement.
    void observe(double loss, ScheduleConfig const& schedule);
};

// The same on the counters of a state. False: it has none.
bool observe_plateau(Counters const& counters, double loss, ScheduleConfig const& schedule);

}  // namespace hopscotch
