// SPDX-License-Identifier: Apache-2.0
#include "search/front.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace hopscotch {
namespace {

using Indices = std::vector<std::size_t>;

constexpr std::size_t k_most_spread = 100;  // of a front: the others are near to one of these
constexpr double k_not_zero = 1e-12;        // in place of a reference of 0

bool is_finite(Losses const& losses) {
    return std::ranges::all_of(losses, [](double loss) { return std::isfinite(loss); });
}

Indices all_of(std::size_t count) {
    Indices out(count);
    std::iota(out.begin(), out.end(), std::size_t{0});
    return out;
}

// Maps each objective to 0 (the best of the points) .. 1 (the worst).
class Scale {
public:
    explicit Scale(std::vector<Losses> const& points) : best_(points.front()), worst_(points.front()) {
        for (auto const& losses : points)
            for (std::size_t i = 0; i < losses.size(); ++i) {
                best_[i] = std::min(best_[i], losses[i]);
                worst_[i] = std::max(worst_[i], losses[i]);
            }
    }
    double distance(Losses const& a, Losses const& b) const {  // squared
        auto const x = scaled(a), y = scaled(b);
        double sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
        return sum;
    }
    Losses const& best() const { return best_; }
    Losses scaled(Losses const& losses) const {
        Losses out = {};
        for (std::size_t i = 0; i < out.size(); ++i)
            if (double const range = worst_[i] - best_[i]; range > 0 && std::isfinite(range))
                out[i] = (losses[i] - best_[i]) / range;
        return out;
    }

private:
    Losses best_, worst_;
};

// The indices of one front in the order of an epsilon-net.
Indices spread(std::vector<Point> const& points, Indices front) {
    auto const losses = losses_of(points, front);
    if (front.size() < 2 || !std::ranges::all_of(losses, is_finite)) return front;
    Scale const scale(losses);
    std::vector<double> gap(front.size(), std::numeric_limits<double>::infinity());  // to the nearest that is chosen; -1: is
    Indices out;
    auto next = static_cast<std::size_t>(std::ranges::min_element(losses) - losses.begin());
    while (out.size() < std::min(front.size(), k_most_spread)) {
        out.push_back(front[next]);
        auto const chosen = losses[next];
        gap[next] = -1;
        for (std::size_t i = 0; i < front.size(); ++i)
            if (gap[i] >= 0) gap[i] = std::min(gap[i], scale.distance(losses[i], chosen));
        next = static_cast<std::size_t>(std::ranges::max_element(gap) - gap.begin());
    }
    for (std::size_t i = 0; i < front.size(); ++i)
        if (gap[i] >= 0) out.push_back(front[i]);
    return out;
}

double volume(Losses const& from, Losses const& to) {
    double out = 1;
    for (std::size_t i = 0; i < from.size(); ++i) out *= std::max(to[i] - from[i], 0.0);
    return out;
}

// Of the first two objectives. points: sorted by the first one.
double area(std::vector<Losses> const& points, Losses const& reference) {
    double out = 0, height = reference[1];
    for (auto const& losses : points) {
        if (losses[0] >= reference[0] || losses[1] >= height) continue;
        out += (reference[0] - losses[0]) * (height - losses[1]);
        height = losses[1];
    }
    return out;
}

// By how much `more` enlarges the volume of the chosen points: its own, less what they cover of it.
double gain(Losses const& more, std::vector<Losses> const& chosen, Losses const& reference) {
    std::vector<Losses> covered;
    for (auto const& each : chosen) {
        auto& corner = covered.emplace_back();
        for (std::size_t i = 0; i < corner.size(); ++i) corner[i] = std::max(each[i], more[i]);
    }
    return volume(more, reference) - hypervolume(std::move(covered), reference);
}

Losses reference_of(std::vector<Losses> const& points, std::size_t objectives) {
    Losses out;
    out.fill(1);
    for (std::size_t i = 0; i < objectives; ++i) {
        double worst = -std::numeric_limits<double>::infinity();
        for (auto const& losses : points) worst = std::max(worst, losses[i]);
        out[i] = std::max(1.1 * worst, 0.9 * worst);
        if (out[i] == 0) out[i] = k_not_zero;
    }
    return out;
}

// At most: the third losses of all that have not failed are equal.
bool have_two_objectives(std::vector<Point> const& points) {
    auto const first = std::ranges::find_if_not(points, has_failed);
    return std::ranges::all_of(points, [&](Point const& each) {
        return has_failed(each) || each.losses.back() == first->losses.back();
    });
}

}  // namespace

bool dominates(Point const& a, Point const& b) {
    if (a.violation != b.violation) return a.violation < b.violation;
    bool better = false;
    for (std::size_t i = 0; i < a.losses.size(); ++i) {
        if (a.losses[i] > b.losses[i]) return false;
        better = better || a.losses[i] < b.losses[i];
    }
    return better;
}

// Efficient non-dominated sort (Zhang et al. 2015): a point can only be dominated by points before it in this order, and a
// front without a dominating point has none behind it.
std::vector<std::size_t> front_numbers(std::vector<Point> const& points) {
    auto order = all_of(points.size());
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        return std::tie(points[a].violation, points[a].losses, a) < std::tie(points[b].violation, points[b].losses, b);
    });
    bool const two = have_two_objectives(points);
    std::vector<Indices> fronts;
    std::vector<std::size_t> out(points.size());
    for (auto const i : order) {
        auto const is_dominated = [&](Indices const& front) {
            if (two) return dominates(points[front.back()], points[i]);  // it has the least second loss of its front
            return std::any_of(front.rbegin(), front.rend(), [&](auto j) { return dominates(points[j], points[i]); });
        };
        auto const at = std::partition_point(fronts.begin(), fronts.end(), is_dominated);
        out[i] = static_cast<std::size_t>(at - fronts.begin());
        if (at == fronts.end()) fronts.emplace_back();
        fronts[out[i]].push_back(i);
    }
    return out;
}

std::vector<std::vector<std::size_t>> fronts_of(std::vector<Point> const& points) {
    auto const numbers = front_numbers(points);
    std::vector<Indices> out;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (numbers[i] >= out.size()) out.resize(numbers[i] + 1);
        out[numbers[i]].push_back(i);
    }
    return out;
}

std::vector<Losses> losses_of(std::vector<Point> const& points, std::vector<std::size_t> const& indices) {
    std::vector<Losses> out;
    for (auto const i : indices) out.push_back(points[i].losses);
    return out;
}

std::vector<std::size_t> by_rank(std::vector<Point> const& points) {
    Indices out;
    for (auto& front : fronts_of(points)) std::ranges::copy(spread(points, std::move(front)), std::back_inserter(out));
    return out;
}

std::vector<std::size_t> pareto_front(std::vector<Point> const& points) {
    Indices finite;
    std::vector<Point> found;
    for (std::size_t i = 0; i < points.size(); ++i) {
        if (!is_finite(points[i].losses)) continue;
        finite.push_back(i);
        found.push_back(points[i]);
    }
    auto const numbers = front_numbers(found);
    Indices out;
    for (std::size_t i = 0; i < finite.size(); ++i)
        if (numbers[i] == 0) out.push_back(finite[i]);
    std::ranges::stable_sort(out, {}, [&](std::size_t i) { return points[i].losses; });
    return out;
}

// Slice by slice along the last objective: in each the points so far cover an area.
double hypervolume(std::vector<Losses> points, Losses const& reference) {
    std::erase_if(points, [&](Losses const& losses) { return volume(losses, reference) == 0; });
    std::ranges::sort(points, {}, [](Losses const& losses) { return std::pair(losses.back(), losses); });
    if (!points.empty() && points.front().back() == points.back().back())
        return (reference.back() - points.back().back()) * area(points, reference);
    double out = 0;
    std::vector<Losses> so_far;
    for (std::size_t i = 0; i < points.size(); ++i) {
        so_far.insert(std::ranges::upper_bound(so_far, points[i]), points[i]);
        double const next = i + 1 < points.size() ? points[i + 1].back() : reference.back();
        if (next > points[i].back()) out += (next - points[i].back()) * area(so_far, reference);
    }
    return out;
}

double hypervolume_share(std::vector<Losses> const& all, std::vector<Losses> const& points) {
    std::vector<Losses> finite;
    std::ranges::copy_if(all, std::back_inserter(finite), is_finite);
    if (finite.empty()) return 0;
    Scale const scale(finite);
    std::vector<Losses> scaled;
    for (auto const& losses : points) {
        auto& inside = scaled.emplace_back(scale.scaled(losses));
        for (auto& each : inside) each = std::max(each, 0.0);
    }
    Losses reference;
    reference.fill(1);
    return hypervolume(std::move(scaled), reference);
}

std::vector<std::size_t> hypervolume_subset(std::vector<Losses> const& points, std::size_t count, std::size_t objectives) {
    auto order = all_of(points.size());  // equal points by index, so the first of them stands for all
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return points[i]; });
    auto const same = [&](std::size_t a, std::size_t b) { return points[a] == points[b]; };
    Indices distinct;
    std::ranges::unique_copy(order, std::back_inserter(distinct), same);
    auto const reference = reference_of(points, objectives);
    if (!is_finite(reference)) distinct.resize(std::min(distinct.size(), count));  // no gain is finite
    // A gain only shrinks as more are chosen. So gains of earlier rounds are bounds, and only the largest is computed anew.
    std::vector<double> gains(distinct.size(), k_worst);
    std::vector<std::size_t> computed(distinct.size(), 0);  // after this many choices, and one more
    Indices out;
    std::vector<Losses> chosen;
    while (out.size() < std::min(count, distinct.size())) {
        auto const top = static_cast<std::size_t>(std::ranges::max_element(gains) - gains.begin());
        auto const& candidate = points[distinct[top]];
        if (computed[top] == chosen.size() + 1 || !is_finite(reference)) {
            chosen.push_back(candidate);
            out.push_back(distinct[top]);
            gains[top] = -k_worst;
        } else {
            gains[top] = gain(candidate, chosen, reference);
            computed[top] = chosen.size() + 1;
        }
    }
    for (std::size_t i = 0; i < points.size() && out.size() < count; ++i)  // then copies of chosen points
        if (std::ranges::find(out, i) == out.end()) out.push_back(i);
    return out;
}

std::size_t knee(std::vector<Losses> const& points) {
    Scale const scale(points);
    auto const nearest =
        std::ranges::min_element(points, {}, [&](Losses const& losses) { return scale.distance(losses, scale.best()); });
    return static_cast<std::size_t>(nearest - points.begin());
}

}  // namespace hopscotch
