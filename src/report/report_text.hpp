// SPDX-License-Identifier: Apache-2.0
// A report for the terminal: the trials by a metric, the others beside it, and the errors of the best model. PURE.
#pragma once
#include <string>

#include "analysis/results/run_results.hpp"

namespace hopscotch {

// No line is longer than `columns` (at least 40).
std::string report_text(RunResults const& data, int columns);

}  // namespace hopscotch
