// SPDX-License-Identifier: Apache-2.0
// A run as one table for pandas, R or a spreadsheet: a row for each trial and epoch.
#pragma once
#include <string>

#include "analysis/results/run_results.hpp"

namespace hopscotch {

// The columns: trial, status, the searched keys, and the keys of metrics.jsonl. Throws DataError for a damaged file.
std::string epochs_csv(RunResults const& data);

}  // namespace hopscotch
