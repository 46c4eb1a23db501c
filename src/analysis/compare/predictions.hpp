// SPDX-License-Identifier: Apache-2.0
// The cost model beside the measurement: estimates for the work that the runs report (analysis/cost/run_estimate.hpp).
#pragma once
#include <vector>

#include "analysis/compare/compared_run.hpp"
#include "analysis/compare/measures.hpp"
#include "analysis/cost/strategy_cost.hpp"

namespace hopscotch {

// By run: the cost of its strategy over this link. Inputs: rows, steps and seconds of the journals, and bytes of the
// summaries. Two runs with different local batches give the fixed cost of a step; otherwise each run's own mean is used.
// None if no run has a needed number: the bytes of the parameters, or of the data for task_parallel. Throws DataError for a
// damaged journal.
std::vector<std::optional<Estimate>> predict(std::vector<ComparedRun> const& runs, Link const& link);

// As rows of the table, with ratios to the run's own measured value.
std::vector<MeasureRow> predicted_measures(std::vector<ComparedRun> const& runs,
                                           std::vector<std::optional<Estimate>> const& estimates);

}  // namespace hopscotch
