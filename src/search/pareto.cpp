// SPDX-License-Identifier: Apache-2.0
#include "search/pareto.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hopscotch {
namespace {

// Lower is better.
TwoValues losses(TwoValues const& point, std::array<Mode, 2> modes) {
    return {modes[0] == Mode::max ? -point[0] : point[0], modes[1] == Mode::max ? -point[1] : point[1]};
}

bool is_finite(TwoValues const& point) { return std::isfinite(point[0]) && std::isfinite(point[1]); }

}  // namespace

bool dominates(TwoValues const& a, TwoValues const& b, std::array<Mode, 2> modes) {
    if (!is_finite(a) || !is_finite(b)) return false;
    auto const x = losses(a, modes), y = losses(b, modes);
    return x[0] <= y[0] && x[1] <= y[1] && x != y;
}

// From the best first value on, a point is on the front if its second one is better than all before, or if it is the same
// point as the last of the front.
std::vector<std::size_t> pareto_front(std::vector<TwoValues> const& points, std::array<Mode, 2> modes) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < points.size(); ++i)
        if (is_finite(points[i])) order.push_back(i);
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return losses(points[i], modes); });
    std::vector<std::size_t> front;
    double best = std::numeric_limits<double>::infinity();
    for (auto const i : order) {
        auto const second = losses(points[i], modes)[1];
        if (second >= best && (front.empty() || points[i] != points[front.back()])) continue;
        best = second;
        front.push_back(i);
    }
    return front;
}

}  // namespace hopscotch
