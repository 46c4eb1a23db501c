// SPDX-License-Identifier: Apache-2.0
// The learning rate of a step, a pure function of the rows seen so far: independent of batch size, trainers and history.
#pragma once
#include <cstdint>

#include "experiment/config.hpp"

namespace hopscotch {

// samples: rows trained before this step; batch: rows of this step; train_rows: rows of one epoch.
// Warm-up multiplies: it reaches 1 with the step that completes warmup_epochs. Cosine reaches min_lr after train.epochs.
double scheduled_lr(TrainConfig const& train, std::int64_t train_rows, std::int64_t samples, std::int64_t batch);

}  // namespace hopscotch
