// SPDX-License-Identifier: Apache-2.0
#include "analysis/forecast/plan_report.hpp"
#include "experiment/strategy_traits.hpp"

namespace hopscotch {
namespace {

constexpr int k_plan_format = 1;

Json number_or_null(bool known, double value) { return known ? Json(value) : Json(); }

Json memory_json(MemoryForecast const& memory) {
    return Json::object({{"trainer_bytes", memory.trainer()},
                         {"training_bytes", memory.training},
                         {"waiting_states_bytes", memory.waiting},
                         {"rows_bytes", memory.rows},
                         {"validation_bytes", memory.validation},
                         {"rank0_bytes", memory.rank0}});
}

// times: "_s", or "_work" where seconds are not known.
Json row_json(StrategyForecast const& row, bool knows_seconds) {
    if (!row.refused.empty()) return Json::object({{"strategy", row.strategy.name}, {"refused", row.refused}});
    return Json::object({{"strategy", row.strategy.name},
                         {"makespan_s", number_or_null(knows_seconds, row.makespan_s)},
                         {"makespan_work", number_or_null(!knows_seconds, row.makespan_s)},
                         {"communication_s", number_or_null(knows_seconds, row.communication_s)},
                         {"utilisation", row.busy},
                         {"makespan_over_bound", row.times_bound},
                         {"network_bytes", row.network_bytes},
                         {"link_bytes", row.link_bytes},
                         {"data_bytes", row.data_bytes},
                         {"run_dir_bytes", row.run_dir_bytes},
                         {"memory", memory_json(row.memory)},
                         {"price", number_or_null(row.price.has_value(), row.price.value_or(0))}});
}

// scale: from the crossover's unit to the key's.
Json crossover_json(Crossover const& found, double scale) {
    auto const kind = found.kind == Crossover::Kind::never    ? "never"
                      : found.kind == Crossover::Kind::always ? "always"
                                                              : "from";
    return Json::object({{"is", kind},
                         {"value", number_or_null(found.kind == Crossover::Kind::from, found.value * scale)},
                         {"lowest", found.low * scale},
                         {"highest", found.high * scale}});
}

Json crossovers_json(std::optional<Crossovers> const& found) {
    if (!found) return {};
    return Json::object({{"batch_rows", crossover_json(found->batch, 1)},
                         {"batch_rows_within_tenth", crossover_json(found->batch_close, 1)},
                         {"bandwidth_bytes_per_s", crossover_json(found->bandwidth, 1)},
                         {"bandwidth_bytes_per_s_within_tenth", crossover_json(found->bandwidth_close, 1)}});
}

Json forecast_json(TrainersForecast const& forecast, bool knows_seconds) {
    Json::Array rows;
    for (auto const& row : forecast.rows) rows.push_back(row_json(row, knows_seconds));
    auto const simulated = forecast.simulated_s.value_or(0);
    return Json::object(
        {{"trainers", forecast.trainers},
         {"strategies", std::move(rows)},
         {"allreduce_beats_mop", crossovers_json(forecast.allreduce)},
         {"simulated_makespan_s", number_or_null(forecast.simulated_s && knows_seconds, simulated)},
         {"simulated_utilisation", number_or_null(forecast.simulated_s.has_value(), forecast.simulated_busy.value_or(0))},
         {"notes", forecast.notes}});
}

Json curve_json(PlanReport const& report) {
    Json::Array out;
    for (auto const& point : report.curve)
        out.push_back(Json::object({{"trainers", point.trainers},
                                    {"makespan_s", number_or_null(report.basis.knows_seconds, point.makespan)},
                                    {"speed_up", point.speed_up},
                                    {"utilisation", point.busy}}));
    return Json(std::move(out));
}

}  // namespace

Json report_json(PlanReport const& report) {
    auto const& basis = report.basis;
    Json::Array forecasts;
    for (auto const& forecast : report.forecasts) forecasts.push_back(forecast_json(forecast, basis.knows_seconds));
    return Json::object({{"format", k_plan_format},
                         {"experiment", report.experiment},
                         {"dataset", report.dataset},
                         {"trials", report.trials},
                         {"epochs", report.epochs},
                         {"least_epochs", report.least_epochs},
                         {"most_epochs", report.most_epochs},
                         {"rows", report.rows},
                         {"shards", report.shards},
                         {"dataset_bytes", basis.dataset_bytes},
                         {"bandwidth_bytes_per_s", basis.link.bytes_per_s},
                         {"latency_s", basis.link.latency_s},
                         {"price_per_trainer_hour", number_or_null(basis.price_per_trainer_hour.has_value(),
                                                                   basis.price_per_trainer_hour.value_or(0))},
                         {"costs", report.costs.empty() ? Json() : Json(report.costs)},
                         {"work_s", number_or_null(basis.knows_seconds, work_s(basis.trials))},
                         {"plans", std::move(forecasts)},
                         {"curve", curve_json(report)},
                         {"trainers_worth", report.curve.empty() ? Json() : Json(trainers_worth(report.curve))},
                         {"assumptions", report.assumptions}});
}

}  // namespace hopscotch
