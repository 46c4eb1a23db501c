// SPDX-License-Identifier: Apache-2.0
// The value of a metric after one lap: one definition for the director, the trainers and the files. PURE.
#pragma once
#include <string_view>

#include "experiment/metric.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

// Sums are added in visit order, in double. NaN without rows, or if has_metric() is false for the loss. Throws Error for an
// unknown name.
double lap_metric(LapRecord const& record, std::string_view metric, LossKind loss);
double lap_metric(LapRecord const& record, MetricTraits const& metric, LossKind loss);

}  // namespace hopscotch
