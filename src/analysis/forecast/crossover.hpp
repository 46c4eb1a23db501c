// SPDX-License-Identifier: Apache-2.0
// The point at which all-reduce overtakes mop: the batch size, or the bandwidth, by bisection on the closed forms. PURE.
#pragma once
#include <functional>
#include <string>

#include "analysis/cost/strategy_cost.hpp"

namespace hopscotch {

// The smallest value in [low, high] for which a condition holds that holds for every larger value too.
struct Crossover {
    enum class Kind { never, always, from } kind = Kind::never;
    double low = 0, high = 0, value = 0;  // value: with Kind::from
};
Crossover first_integer(double low, double high, std::function<bool(double)> const& holds);
Crossover first_to_a_percent(double low, double high, std::function<bool(double)> const& holds);  // both above 0

// A workload of models whose rows are those of an epoch, and how both strategies train it.
struct Contest {
    Workload work;
    Cluster cluster;
    AllReduceUse use;
    double hops_per_lap = 0;
};

// All-reduce takes less than `times` of mop's time. batch: of every model, in 1..largest.
Crossover batch_crossover(Contest const& contest, std::int64_t largest, double times = 1);
Crossover bandwidth_crossover(Contest const& contest, double times = 1);  // bytes a second, 1 Mbit/s to 100 Tbit/s

// "never in 1..120", "at any of 1..120", "from 64". text: of a value.
std::string text_of(Crossover const& crossover, std::function<std::string(double)> const& text);

}  // namespace hopscotch
