// SPDX-License-Identifier: Apache-2.0
// A comparison as a table for people (a metric a row, a run a column) and as a JSON document.
#pragma once
#include <string>
#include <vector>

#include "analysis/compare/compared_run.hpp"
#include "analysis/compare/measures.hpp"

namespace hopscotch {

struct RunComparison {
    std::vector<ComparedRun> runs;  // ratios are to the first
    MetricTarget target;
    std::vector<MeasureRow> measured;
    std::vector<MeasureRow> predicted;  // empty: --bandwidth was not given
    std::string link;                   // that predictions are for: "1gbit, 0.1ms"
    std::vector<std::string> reasons;   // the reasons why it is not a fair comparison (--anyway)
    std::vector<std::string> notes;     // other differences
};

// The table is at most `columns` wide, unless one run alone needs more. Runs that do not fit beside the first ones are
// printed below them.
std::string comparison_text(RunComparison const& comparison, std::size_t columns);

// {"base", "metric", "mode", "target", "runs": [{"dir", "strategy", "label", "status", "injected", "values", "ratios",
// "predicted"?, "predicted_to_measured"?}], "reasons", "notes"}: values of MeasureRow::key, null where a run has none.
Json comparison_json(RunComparison const& comparison);

}  // namespace hopscotch
