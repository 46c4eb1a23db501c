// SPDX-License-Identifier: Apache-2.0
#include "schedule/lap_metric.hpp"

#include <cmath>

namespace hopscotch {
namespace {

double mean(double sum, std::int64_t rows) { return rows > 0 ? sum / static_cast<double>(rows) : k_no_score; }

double train_loss(LapRecord const& record) {
    double sum = 0;
    std::int64_t rows = 0;
    for (auto const& unit : record.units) {
        sum += unit.loss_sum;
        rows += unit.rows;
    }
    return mean(sum, rows);
}

}  // namespace

double lap_metric(LapRecord const& record, std::string_view metric, LossKind loss) {
    if (!has_metric(loss, metric)) return k_no_score;
    if (metric == "train_loss") return train_loss(record);
    auto const rows = record.valid_rows;
    if (rows <= 0) return k_no_score;
    if (metric == "val_loss") return mean(record.valid_loss, rows);
    if (metric == "val_perplexity") return std::exp(mean(record.valid_loss, rows));
    if (metric == "val_accuracy") return mean(record.valid_correct, rows);
    if (metric == "val_top5") return mean(record.valid_top5, rows);
    if (metric == "val_f1") return record.valid_f1;
    if (metric == "val_auc") return record.valid_auc;
    return metric == "val_mae" ? record.valid_mae : record.valid_r2;
}

}  // namespace hopscotch
