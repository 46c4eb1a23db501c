// SPDX-License-Identifier: Apache-2.0
// Everything that `hopscotch plan` prints, as text or as JSON (docs/formats.md). PURE.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/forecast/crossover.hpp"
#include "analysis/forecast/strategy_forecast.hpp"
#include "analysis/forecast/trainer_curve.hpp"
#include "core/json.hpp"

namespace hopscotch {

// All-reduce against mop. close: within a tenth of mop's time.
struct Crossovers {
    Crossover batch, batch_close, bandwidth, bandwidth_close;
};

struct TrainersForecast {
    int trainers = 1;
    std::vector<StrategyForecast> rows;   // a strategy each
    std::optional<Crossovers> allreduce;  // none: seconds are not known, or there is one trainer
    std::string simulation;               // a Gantt chart; empty: none was asked for, or none can be made
    std::optional<double> simulated_s, simulated_busy;
    std::vector<std::string> notes;
};

struct PlanReport {
    std::string experiment, dataset;
    std::int64_t trials = 0, epochs = 0, rows = 0;  // epochs: of all trials together, as forecast
    std::string sums;                               // the same in the words of --dry-run: with bounds
    std::int64_t least_epochs = 0, most_epochs = 0;
    int shards = 0;
    PlanBasis basis;
    std::string costs;  // the source of the seconds; empty: they are not known
    std::vector<TrainersForecast> forecasts;
    std::vector<CurvePoint> curve;         // of mop
    std::vector<std::string> assumptions;  // inputs that were not given, and how to give them
};

std::string report_text(PlanReport const& report, std::size_t columns);
Json report_json(PlanReport const& report);

}  // namespace hopscotch
