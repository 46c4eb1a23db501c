// SPDX-License-Identifier: Apache-2.0
#include "schedule/lap_metric.hpp"

namespace hopscotch {
namespace {

double train_loss(LapRecord const& record) {
    auto const totals = totals_of(record);
    return totals.rows > 0 ? totals.loss_sum / static_cast<double>(totals.rows) : k_no_score;
}

}  // namespace

double lap_metric(LapRecord const& record, std::string_view metric, LossKind loss) {
    if (may_be_own_metric(metric)) return record.valid.of_own(metric);
    return lap_metric(record, metric_traits(metric), loss);
}

double lap_metric(LapRecord const& record, MetricTraits const& metric, LossKind loss) {
    if (!has_metric(loss, metric)) return k_no_score;
    if (!metric.is_of_validation()) return train_loss(record);
    return record.valid.rows > 0 ? metric.value(record.valid) : k_no_score;
}

}  // namespace hopscotch
