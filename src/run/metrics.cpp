// SPDX-License-Identifier: Apache-2.0
#include "run/metrics.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.hpp"
#include "schedule/lap_metric.hpp"

namespace hopscotch {
namespace {

using Number = std::pair<std::string_view, double Metrics::*>;
constexpr std::array<Number, 9> k_numbers{{{"train_loss", &Metrics::train_loss},
                                           {"val_loss", &Metrics::val_loss},
                                           {"val_accuracy", &Metrics::val_accuracy},
                                           {"val_top5", &Metrics::val_top5},
                                           {"val_f1", &Metrics::val_f1},
                                           {"val_auc", &Metrics::val_auc},
                                           {"val_mae", &Metrics::val_mae},
                                           {"val_r2", &Metrics::val_r2},
                                           {"val_perplexity", &Metrics::val_perplexity}}};

}  // namespace

Metrics metrics_of(LapRecord const& record, LossKind loss) {
    Metrics out;
    for (auto const& unit : record.units) out.rows += unit.rows;
    out.epoch = record.epoch;
    for (auto const& [name, number] : k_numbers) out.*number = lap_metric(record, name, loss);
    out.lr = record.lr;
    return out;
}

double metric_value(Metrics const& metrics, std::string_view name) {
    for (auto const& [known, number] : k_numbers)
        if (name == known) return metrics.*number;
    if (name == "lr") return metrics.lr;
    throw Error("metric '" + std::string(name) + "' does not exist (known: train_loss, val_loss, val_accuracy ...)");
}

bool better(double a, double b, Mode mode) {
    if (!std::isfinite(a)) return false;
    if (!std::isfinite(b)) return true;
    return mode == Mode::max ? a > b : a < b;
}

Json to_json(Metrics const& metrics) {
    auto out = Json::object({{"epoch", metrics.epoch}});
    for (auto const& [name, number] : k_numbers) out[name] = metrics.*number;
    out["lr"] = metrics.lr;
    out["rows"] = metrics.rows;
    return out;
}

void MetricsFile::append(TrialId trial, Metrics const& metrics, double wall_s) {
    Json line = Json::object({{"trial", trial.value}});
    auto rest = to_json(metrics);  // named: a range-for does not keep a temporary's parts alive
    for (auto& member : rest.object()) line[member.key] = std::move(member.value);
    line["wall_s"] = wall_s;
    file_.append(line.dump() + "\n");
}

double end_unix_s(LapRecord const& record) {
    double end = record.valid_start_unix_s + record.valid_seconds;
    for (auto const& unit : record.units) end = std::max(end, unit.start_unix_s + unit.seconds);
    return end;
}

}  // namespace hopscotch
