// SPDX-License-Identifier: Apache-2.0
// One trial of a plan with its sizes and costs, and the same trial for the closed forms of analysis/cost/strategy_cost.hpp.
// Real shards end with batches that are not full, so step counts are inputs. PURE.
#pragma once
#include <cstdint>
#include <span>

#include "analysis/cost/strategy_cost.hpp"
#include "core/ids.hpp"
#include "schedule/visit.hpp"

namespace hopscotch {

// Of an epoch of one trial, as one strategy trains it: the steps that follow each other, and the rows of the trainer with
// most. One trainer alone has all rows.
struct EpochSteps {
    std::int64_t steps = 1;
    double rows = 0;
};

struct PlannedTrial {
    TrialId id;
    Route route = {};
    HeldOut held_out = {};
    std::int64_t epochs = 0;
    std::int64_t rows = 0;  // of an epoch
    std::int64_t batch = 1;
    EpochSteps alone;                  // on one trainer
    double fixed_s = 0, row_s = 0;     // of a step, and of each of its rows
    double validation_s = 0;           // of an epoch, on one trainer
    std::int64_t weight_bytes = 0;     // of the parameters
    std::int64_t optimizer_bytes = 0;  // the rest of the state

    double epoch_s() const { return static_cast<double>(alone.steps) * fixed_s + static_cast<double>(rows) * row_s; }
    double alone_s() const { return static_cast<double>(epochs) * (epoch_s() + validation_s); }
    std::int64_t state_bytes() const { return weight_bytes + optimizer_bytes; }
};

inline constexpr Link k_free_link{1e30, 0, 0, 0};  // where seconds are not known

double work_s(std::span<PlannedTrial const> trials);  // of one trainer

// With exactly these steps and rows. workers: that train the trial together.
ModelWork alone_model(PlannedTrial const& trial);
ModelWork group_model(PlannedTrial const& trial, EpochSteps const& steps, int workers, GroupBatch batch);

}  // namespace hopscotch
