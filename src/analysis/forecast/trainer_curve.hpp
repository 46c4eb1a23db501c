// SPDX-License-Identifier: Apache-2.0
// The useful number of trainers: mop's simulated makespan over numbers of trainers, as points and as bars of text. PURE.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schedule/visit.hpp"

namespace hopscotch {

struct CurvePoint {
    int trainers = 1;
    double makespan = 0, speed_up = 1, busy = 1;  // speed_up: one trainer's work over the makespan
};

struct CurveRequest {
    Policy const& policy;
    std::vector<TrialCost> const& trials;
    int shards = 1;
    std::optional<std::int64_t> in_flight;  // none: 4 per trainer
    std::vector<int> also = {};             // trainer counts to show besides the usual ones
    OwnersBy owners = OwnersBy::shares;
};

// 1, 2, 3, 4, 6, 8, 12, ... up to a trainer per shard, by simulation; by the lower bound where that would take too long.
std::vector<CurvePoint> trainer_curve(CurveRequest const& request);

inline constexpr double k_worth_busy = 0.8;
int trainers_worth(std::vector<CurvePoint> const& curve);  // the most that are busy at least that share of the time

std::string curve_text(std::vector<CurvePoint> const& curve, std::size_t columns);  // bars of the speed-up

}  // namespace hopscotch
