// SPDX-License-Identifier: Apache-2.0
// A run as one table for pandas, R or a spreadsheet: a row for each trial and epoch.
#pragma once
#include <string>

#include "app/report/report_data.hpp"

namespace hopscotch {

// The columns: trial, status, the searched keys, and the keys of metrics.jsonl. Throws DataError for a damaged file.
std::string epochs_csv(ReportData const& data);

}  // namespace hopscotch
