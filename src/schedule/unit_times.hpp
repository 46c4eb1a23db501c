// SPDX-License-Identifier: Apache-2.0
// Seconds of units, learned while they are trained. PURE. Two factors: the seconds a row of a kind of trial (models of equal
// FLOPs with equal batches), and the slowness of a trainer. The mean slowness is 1: otherwise both factors would drift, and
// kinds that were learned at different times could not be compared. A kind without a trained unit takes its FLOPs, at the
// speed of the known kinds. Averages forget: a host may get slower.
#pragma once
#include <compare>
#include <cstdint>
#include <map>

#include "core/ids.hpp"

namespace hopscotch {

struct UnitKind {
    double flops = 0;  // of one unit
    std::int64_t batch_size = 0;
    auto operator<=>(UnitKind const&) const = default;
};

class UnitTimes {
public:
    void learn(UnitKind const& kind, TrainerId trainer, std::int64_t rows, double seconds);

    // Before the very first unit: the FLOPs, at one FLOP a second. rows: 0: as many as the last unit of the kind.
    double seconds(UnitKind const& kind, std::int64_t rows = 0) const;  // on the mean trainer
    double seconds_on(UnitKind const& kind, TrainerId trainer, std::int64_t rows = 0) const;
    bool knows_any() const { return !kinds_.empty(); }

private:
    double slowness(TrainerId trainer) const;  // 1: the mean trainer, or not known
    double mean_of_marks() const { return marks_.empty() ? 1 : sum_of_marks_ / static_cast<double>(marks_.size()); }
    void set_mark(TrainerId trainer, double mark);

    struct Learned {
        double row_s = 0;
        std::int64_t rows = 0;  // of the last unit
    };
    std::map<UnitKind, Learned> kinds_;
    std::map<TrainerId, double> marks_;  // slowness, in a unit of their own: a new one would change all others
    double sum_of_marks_ = 0;
    double flop_s_ = 0;
};

}  // namespace hopscotch
