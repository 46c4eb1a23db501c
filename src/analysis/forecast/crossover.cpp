// SPDX-License-Identifier: Apache-2.0
#include "analysis/forecast/crossover.hpp"

#include <fmt/format.h>

#include <cmath>

namespace hopscotch {
namespace {

constexpr double k_slowest_link = 125e3, k_fastest_link = 12.5e12;

// The last pair (fails, holds) that `closer` cannot narrow down.
Crossover bisected(double low, double high, std::function<bool(double)> const& holds,
                   std::function<double(double, double)> const& closer) {
    Crossover out{Crossover::Kind::never, low, high, high};
    if (!holds(high)) return out;
    out.kind = Crossover::Kind::always;
    out.value = low;
    if (holds(low)) return out;
    out.kind = Crossover::Kind::from;
    double fails = low, good = high;
    for (double middle = closer(fails, good); middle > fails && middle < good; middle = closer(fails, good))
        (holds(middle) ? good : fails) = middle;
    out.value = good;
    return out;
}

bool reduce_wins(Contest const& contest, double times) {
    auto const mop = estimate_mop(contest.work, contest.cluster, contest.hops_per_lap);
    return estimate_all_reduce(contest.work, contest.cluster, contest.use).makespan_s < times * mop.makespan_s;
}

}  // namespace

Crossover first_integer(double low, double high, std::function<bool(double)> const& holds) {
    return bisected(low, high, holds, [](double a, double b) { return std::floor((a + b) / 2); });
}

Crossover first_to_a_percent(double low, double high, std::function<bool(double)> const& holds) {
    return bisected(low, high, holds, [](double a, double b) { return b / a < 1.01 ? a : std::sqrt(a * b); });
}

Crossover batch_crossover(Contest const& contest, std::int64_t largest, double times) {
    auto changed = contest;
    return first_integer(1, static_cast<double>(largest), [&](double batch) {
        for (auto& model : changed.work.models) model.batch = static_cast<std::int64_t>(batch);
        return reduce_wins(changed, times);
    });
}

Crossover bandwidth_crossover(Contest const& contest, double times) {
    auto changed = contest;
    return first_to_a_percent(k_slowest_link, k_fastest_link, [&](double bytes_per_s) {
        changed.cluster.link.bytes_per_s = bytes_per_s;
        return reduce_wins(changed, times);
    });
}

std::string text_of(Crossover const& crossover, std::function<std::string(double)> const& text) {
    auto const range = fmt::format("{}..{}", text(crossover.low), text(crossover.high));
    switch (crossover.kind) {
        case Crossover::Kind::never: return "never in " + range;
        case Crossover::Kind::always: return "at any of " + range;
        case Crossover::Kind::from: break;
    }
    return "from " + text(crossover.value);
}

}  // namespace hopscotch
