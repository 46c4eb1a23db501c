// SPDX-License-Identifier: Apache-2.0
// The cost model beside the measurement: what schedule/strategy_cost.hpp makes of the work that the runs report.
#pragma once
#include <vector>

#include "app/compare/compared_run.hpp"
#include "app/compare/measures.hpp"
#include "schedule/strategy_cost.hpp"

namespace hopscotch {

// By run: what its strategy would need over such a link. Inputs are the runs' own: rows, steps and seconds of their journals
// (two runs with different local batches tell what a step costs anyway; else each run's own mean), bytes of their summaries.
// None where something it needs is in no run: the parameters' bytes, the data's bytes for task_parallel.
// Throws DataError for a damaged journal.
std::vector<std::optional<Estimate>> predict(std::vector<ComparedRun> const& runs, Link const& link);

// As rows of the table, with ratios to the run's own measured value.
std::vector<MeasureRow> predicted_measures(std::vector<ComparedRun> const& runs,
                                           std::vector<std::optional<Estimate>> const& estimates);

}  // namespace hopscotch
