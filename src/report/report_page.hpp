// SPDX-License-Identifier: Apache-2.0
// A report as one HTML document that needs nothing else: style, script and data are in it. PURE.
#pragma once
#include <span>
#include <string>

#include "analysis/results/run_results.hpp"

namespace hopscotch {

// One run: its report. Several: a comparison, and the report of each below it.
std::string report_page(std::span<RunResults const> runs);

std::string comparison_section(std::span<RunResults const> runs);

}  // namespace hopscotch
