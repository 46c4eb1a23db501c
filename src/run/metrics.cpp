// SPDX-License-Identifier: Apache-2.0
#include "run/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.hpp"

namespace hopscotch {
namespace {

double mean(double sum, std::int64_t rows) {
    return rows > 0 ? sum / static_cast<double>(rows) : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Metrics metrics_of(LapRecord const& record, LossKind loss) {
    Metrics out;
    double loss_sum = 0;
    for (auto const& unit : record.units) {
        loss_sum += unit.loss_sum;
        out.rows += unit.rows;
    }
    out.epoch = record.epoch;
    out.train_loss = mean(loss_sum, out.rows);
    out.val_loss = mean(record.valid_loss, record.valid_rows);
    auto const rows_with_classes = loss == LossKind::mse ? 0 : record.valid_rows;
    out.val_accuracy = mean(record.valid_correct, rows_with_classes);
    out.val_top5 = mean(record.valid_top5, rows_with_classes);
    out.lr = record.lr;
    return out;
}

double metric_value(Metrics const& metrics, std::string_view name) {
    if (name == "train_loss") return metrics.train_loss;
    if (name == "val_loss") return metrics.val_loss;
    if (name == "val_accuracy") return metrics.val_accuracy;
    if (name == "val_top5") return metrics.val_top5;
    if (name == "lr") return metrics.lr;
    throw Error("metric '" + std::string(name) + "' does not exist (known: train_loss, val_loss, val_accuracy, val_top5)");
}

bool better(double a, double b, Mode mode) {
    if (!std::isfinite(a)) return false;
    if (!std::isfinite(b)) return true;
    return mode == Mode::max ? a > b : a < b;
}

Json to_json(Metrics const& metrics) {
    return Json::object({{"epoch", metrics.epoch},
                         {"train_loss", metrics.train_loss},
                         {"val_loss", metrics.val_loss},
                         {"val_accuracy", metrics.val_accuracy},
                         {"val_top5", metrics.val_top5},
                         {"lr", metrics.lr},
                         {"rows", metrics.rows}});
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
