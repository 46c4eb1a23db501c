// SPDX-License-Identifier: Apache-2.0
// The metrics of a report: the one that compares the trials, and those beside it.
#pragma once
#include <string>
#include <vector>

#include "analysis/results/run_results.hpp"

namespace hopscotch {

// Sets data.metric and data.mode; the experiment and the journal are there. Throws ConfigError as read_results().
void choose_metric(RunResults& data, ComparedMetric const& metric);

// The metrics other than data.metric that some lap has and that carry information; the curves are there.
std::vector<std::string> other_metrics(RunResults const& data);

}  // namespace hopscotch
