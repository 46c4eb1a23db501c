// SPDX-License-Identifier: Apache-2.0
// `hopscotch plan`: reads an experiment as a run would, and forecasts each strategy on each number of trainers. Writes and
// trains nothing. LibTorch is needed for the sizes of the models.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "analysis/forecast/plan_report.hpp"
#include "analysis/plan/trial_costs.hpp"
#include "job/run_options.hpp"

namespace hopscotch {

struct PlanOptions {
    RunOptions run;
    std::vector<int> trainers;
    Link link;
    std::optional<double> price_per_trainer_hour;
    GivenCosts costs;
    std::optional<std::size_t> gantt_columns;  // --simulate: the width of the chart
    std::vector<std::string> assumptions;      // of the options that were not given
};

// Throws ConfigError with all problems of the experiment, as a run would.
PlanReport plan_run(PlanOptions const& options);

}  // namespace hopscotch
