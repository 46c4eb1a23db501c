// SPDX-License-Identifier: Apache-2.0
// The metrics of a report: the one that compares the trials, and those beside it.
#pragma once
#include <string>
#include <vector>

#include "app/report/report_data.hpp"

namespace hopscotch {

// Sets data.metric and data.mode; the experiment and the journal are there. Throws ConfigError as read_report().
void choose_metric(ReportData& data, ComparedMetric const& metric);

// The metrics other than data.metric that some lap has and that say something; the curves are there.
std::vector<std::string> other_metrics(ReportData const& data);

}  // namespace hopscotch
