// SPDX-License-Identifier: Apache-2.0
#include "schedule/unit_times.hpp"

#include <algorithm>
#include <cmath>

namespace hopscotch {
namespace {

constexpr double k_newest = 0.2;  // weight of the newest unit
// One unit is not enough to judge its trainer: it may have built a model, or read its rows for the first time.
constexpr double k_newest_of_trainer = 0.1;

double mixed(double before, double now, double weight) { return before + weight * (now - before); }

}  // namespace

void UnitTimes::learn(UnitKind const& kind, TrainerId trainer, std::int64_t rows, double seconds) {
    if (rows <= 0 || !(seconds > 0) || !std::isfinite(seconds)) return;
    if (!marks_.contains(trainer)) set_mark(trainer, mean_of_marks());
    auto const row_s = seconds / static_cast<double>(rows);
    auto const [found, is_new] = kinds_.try_emplace(kind, Learned{row_s / slowness(trainer), rows});
    auto& learned = found->second;
    learned.rows = rows;
    if (!is_new) {
        set_mark(trainer, mixed(slowness(trainer), row_s / learned.row_s, k_newest_of_trainer) * mean_of_marks());
        learned.row_s = mixed(learned.row_s, row_s / slowness(trainer), k_newest);
    }
    if (kind.flops <= 0) return;
    auto const flop_s = learned.row_s * static_cast<double>(rows) / kind.flops;
    flop_s_ = flop_s_ == 0 ? flop_s : mixed(flop_s_, flop_s, k_newest);
}

double UnitTimes::seconds(UnitKind const& kind, std::int64_t rows) const {
    if (auto const found = kinds_.find(kind); found != kinds_.end())
        return found->second.row_s * static_cast<double>(rows > 0 ? rows : found->second.rows);
    return kind.flops * (flop_s_ > 0 ? flop_s_ : 1);
}

double UnitTimes::seconds_on(UnitKind const& kind, TrainerId trainer, std::int64_t rows) const {
    return seconds(kind, rows) * slowness(trainer);
}

double UnitTimes::slowness(TrainerId trainer) const {
    auto const found = marks_.find(trainer);
    return found == marks_.end() ? 1 : found->second / mean_of_marks();
}

void UnitTimes::set_mark(TrainerId trainer, double mark) {
    auto& place = marks_[trainer];
    sum_of_marks_ += mark - place;
    place = mark;
    if (mean_of_marks() > 0.5 && mean_of_marks() < 2) return;
    auto const mean = mean_of_marks();  // rarely: marks near 1 keep their digits
    sum_of_marks_ = 0;
    for (auto& [id, each] : marks_) sum_of_marks_ += each /= mean;
}

}  // namespace hopscotch
