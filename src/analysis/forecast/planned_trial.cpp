// SPDX-License-Identifier: Apache-2.0
#include "analysis/forecast/planned_trial.hpp"

#include <algorithm>

namespace hopscotch {
namespace {

// The closed forms count whole batches: rows = steps x batch. Seconds a row shrink by as much as rows grow.
ModelWork whole_batches(PlannedTrial const& trial, EpochSteps const& steps, double local_batch) {
    ModelWork out;
    out.epochs = trial.epochs;
    out.batch = trial.batch;
    out.rows = steps.steps * trial.batch;
    out.fixed_s = trial.fixed_s;
    out.row_s = trial.row_s * steps.rows / (static_cast<double>(std::max<std::int64_t>(1, steps.steps)) * local_batch);
    out.validation_s = trial.validation_s;
    out.weight_bytes = trial.weight_bytes;
    out.optimizer_bytes = trial.optimizer_bytes;
    return out;
}

}  // namespace

double work_s(std::span<PlannedTrial const> trials) {
    double out = 0;
    for (auto const& trial : trials) out += trial.alone_s();
    return out;
}

ModelWork alone_model(PlannedTrial const& trial) {
    return whole_batches(trial, trial.alone, static_cast<double>(trial.batch));
}

ModelWork group_model(PlannedTrial const& trial, EpochSteps const& steps, int workers, GroupBatch batch) {
    double const whole = static_cast<double>(trial.batch);
    if (batch == GroupBatch::split) return whole_batches(trial, steps, whole / workers);
    auto out = whole_batches(trial, steps, whole);
    out.rows *= workers;
    return out;
}

}  // namespace hopscotch
