// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "analysis/forecast/plan_report.hpp"
#include "core/quantity_text.hpp"
#include "core/text_table.hpp"

namespace hopscotch {
namespace {

std::string time_of(PlanReport const& report, double seconds) { return time_text(seconds, report.basis.knows_seconds); }

std::string bandwidth_text(double bytes_per_s) {
    double const bits = 8 * bytes_per_s;
    if (bits >= 1e12) return fmt::format("{:.3g} Tbit/s", bits / 1e12);
    if (bits >= 1e9) return fmt::format("{:.3g} Gbit/s", bits / 1e9);
    return fmt::format("{:.3g} Mbit/s", bits / 1e6);
}

std::string data_text(std::int64_t bytes) { return bytes_text(static_cast<std::uint64_t>(bytes)); }

std::vector<std::string> cells_of(PlanReport const& report, StrategyForecast const& row) {
    if (!row.refused.empty()) return {row.strategy.name, "refused", "", "", "", "", "", "", "", "", ""};
    return {row.strategy.name,
            time_of(report, row.makespan_s),
            fmt::format("{:.0f} %", 100 * row.busy),
            fmt::format("{:.2f}", row.times_bound),
            data_text(row.network_bytes),
            data_text(row.link_bytes),
            data_text(row.data_bytes),
            bytes_text(row.run_dir_bytes),
            bytes_text(row.memory.trainer()),
            bytes_text(row.memory.rank0),
            row.price ? fmt::format("{:.3g}", *row.price) : ""};
}

std::string table_of(PlanReport const& report, TrainersForecast const& forecast, std::size_t columns) {
    std::vector<std::vector<std::string>> rows{
        {"strategy", "makespan", "busy", "x bound", "network", "a link", "data", "run dir", "a trainer", "rank 0", "price"}};
    for (auto const& row : forecast.rows) rows.push_back(cells_of(report, row));
    if (!report.basis.price_per_trainer_hour || !report.basis.knows_seconds)
        for (auto& row : rows) row.pop_back();
    return text_table(rows, columns);
}

std::string crossover_lines(Crossovers const& found) {
    auto const rows = [](double batch) { return fmt::format("{:.0f}", batch); };
    return fmt::format(
        "allreduce is faster than mop   batch size: {}; bandwidth: {}\n"
        "  within 10 % of mop's time    batch size: {}; bandwidth: {}\n",
        text_of(found.batch, rows), text_of(found.bandwidth, bandwidth_text), text_of(found.batch_close, rows),
        text_of(found.bandwidth_close, bandwidth_text));
}

std::string forecast_text(PlanReport const& report, TrainersForecast const& forecast, std::size_t columns) {
    auto out = fmt::format("\n{} trainer{}\n{}", forecast.trainers, forecast.trainers == 1 ? "" : "s",
                           table_of(report, forecast, columns));
    for (auto const& row : forecast.rows)
        if (!row.refused.empty()) out += fmt::format("{} is refused: {}\n", row.strategy.name, row.refused);
    if (forecast.allreduce) out += crossover_lines(*forecast.allreduce);
    for (auto const& note : forecast.notes) out += fmt::format("note: {}\n", note);
    if (forecast.simulated_s)
        out += fmt::format("\nsimulation of mop: {}, trainers busy {:.0f} % (a letter is a trial, + validation, . idle)\n",
                           time_of(report, *forecast.simulated_s), 100 * forecast.simulated_busy.value_or(0));
    return out + forecast.simulation;
}

std::string worth_text(PlanReport const& report) {
    int const worth = trainers_worth(report.curve);
    bool const all = !report.curve.empty() && worth == report.curve.back().trainers;
    return fmt::format("worth having: {} trainer{} (busy {:.0f} % or more of the time{})\n", worth, worth == 1 ? "" : "s",
                       100 * k_worth_busy, all ? "; mop takes no more than one a shard" : "");
}

}  // namespace

std::string report_text(PlanReport const& report, std::size_t columns) {
    auto const& basis = report.basis;
    auto const known = report.least_epochs == report.most_epochs;
    auto out = fmt::format("experiment  {}: {}{}\n", report.experiment, report.sums,
                           known ? "" : fmt::format("; here {}, from made-up results", report.epochs));
    out += fmt::format("data        {}: {} rows in {} shards, {}\n", report.dataset, report.rows, report.shards,
                       data_text(basis.dataset_bytes));
    out += fmt::format("links       {}, {:.3g} ms\n", bandwidth_text(basis.link.bytes_per_s), 1e3 * basis.link.latency_s);
    if (basis.knows_seconds)
        out += fmt::format("work        {} of one trainer ({})\n", time_of(report, work_s(basis.trials)), report.costs);
    else
        out += "work        W: one trainer's time for all trials; it is not known, so times leave communication out\n";
    for (auto const& forecast : report.forecasts) out += forecast_text(report, forecast, columns);
    if (!report.curve.empty()) out += "\n" + curve_text(report.curve, columns) + worth_text(report);
    if (!report.assumptions.empty()) out += "\n";
    for (auto const& assumption : report.assumptions) out += fmt::format("assumed: {}\n", assumption);
    return out + "plan: nothing was written or trained\n";
}

}  // namespace hopscotch
