// SPDX-License-Identifier: Apache-2.0
// The metrics of a lap, computed from its sums.
// A number that does not exist (no validation rows, a lap that diverged) is NaN here and null in every file.
#pragma once
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "experiment/metric.hpp"
#include "schedule/lap.hpp"

namespace hopscotch {

struct Metrics {
    int epoch = 0;
    // In the order of metric_traits(). train_loss: mean over the rows trained, before each row's own step.
    std::vector<double> values = std::vector<double>(metric_traits().size(), k_no_score);
    std::vector<OwnScore> own = {};  // of the user's own metrics, as far as the lap has them
    double lr = 0;                   // of the lap's last step
    std::int64_t rows = 0;           // rows trained
};

// loss: of the trial's own configuration. A metric that the loss does not have is NaN: targets have no accuracy.
Metrics metrics_of(LapRecord const& record, LossKind loss);

// A name of metric_names(), or of a metric of the user's own: NaN if the lap does not have it. Throws Error for another.
double metric_value(Metrics const& metrics, std::string_view name);
double& metric_place(Metrics& metrics, std::string_view name);  // of metric_names() alone

// A number that is not finite is worse than any other, and never better.
bool better(double a, double b, Mode mode);

// {"epoch", the names of metric_names(), the own metrics, "lr", "rows"}
Json to_json(Metrics const& metrics);

// Of the test rows: {"epoch", "loss", "accuracy" ..., "rows"}. Without the facts of training.
Json test_to_json(Metrics const& test);

// The time at which the lap's last unit or validation ended.
double end_unix_s(LapRecord const& record);

}  // namespace hopscotch
