// SPDX-License-Identifier: Apache-2.0
#include "schedule/lap.hpp"

#include <algorithm>

namespace hopscotch {

UnitTotals totals_of(LapRecord const& record) {
    if (record.units.empty()) return record.stored.totals;
    UnitTotals out;
    out.count = std::ssize(record.units);
    for (auto const& unit : record.units) {
        out.rows += unit.rows;
        out.loss_sum += unit.loss_sum;
        out.seconds += unit.seconds;
        out.end_unix_s = std::max(out.end_unix_s, unit.start_unix_s + unit.seconds);
        if (unit.cpu_s >= 0) {
            out.cpu_s += unit.cpu_s;
            out.cpu_of_s += unit.seconds;
        }
        if (unit.gpu_use >= 0) {
            out.gpu_s += unit.gpu_use * unit.seconds;
            out.gpu_of_s += unit.seconds;
        }
    }
    return out;
}

std::span<TrainerId const> validators_of(LapRecord const& record) {
    if (record.valid.trainers.empty()) return {&record.home, 1};
    return record.valid.trainers;
}

double validation_s_of(LapRecord const& record) {
    return record.valid.seconds * static_cast<double>(validators_of(record).size());
}

}  // namespace hopscotch
