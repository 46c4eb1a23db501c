// SPDX-License-Identifier: Apache-2.0
#include "search/improvement_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hopscotch {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

constexpr std::size_t k_random_points = 512, k_starts = 6;
constexpr std::size_t k_most_tried = 16;  // values of one key at a time; of more those near the present one, and gradients
constexpr std::size_t k_most_listed_tried = 64;    // likewise, of a list
constexpr std::ptrdiff_t k_most_compared = 8'000;  // points in one search: its cost must not grow with the space
constexpr int k_rounds = 20;
constexpr double k_little = 1e-4;  // of the logarithm of the improvement

bool has_gradient(Cube::Side const& side) { return !side.is_category() && (side.values == 0 || side.values > k_most_tried); }

// Indices of values to try in place of this one.
std::vector<std::size_t> others_near(Cube::Side const& side, std::size_t value) {
    std::size_t const most = side.is_category() ? k_most_listed_tried : k_most_tried;
    std::size_t const first = value < most / 2 ? 0 : value - most / 2;
    std::size_t const end = std::min(side.values, first + most + 1);
    std::vector<std::size_t> out;
    for (std::size_t i = first; i < end; ++i)
        if (i != value) out.push_back(i);
    return out;
}

}  // namespace

VectorXd ImprovementSearch::seen_at(VectorXd const& point) const {
    return cube_.has_conditions() ? cube_.with_absent_at_rest(point) : point;
}

VectorXd ImprovementSearch::values_at(std::vector<VectorXd> const& points) {
    left_ -= std::ssize(points);
    Eigen::MatrixXd seen(static_cast<Index>(points.size()), cube_.size());
    for (Index i = 0; i < seen.rows(); ++i) seen.row(i) = seen_at(points[static_cast<std::size_t>(i)]);
    auto out = process_.at(seen);
    for (Index i = 0; i < seen.rows(); ++i) {
        out.means[i] = log_improvement(out.means[i], out.variances[i], aim_.best).value;
        if (cube_.has_priors()) out.means[i] += aim_.prior_weight * cube_.log_prior(points[static_cast<std::size_t>(i)]);
    }
    return out.means;
}

// The best of the random points and some others, which are drawn in proportion to their improvement.
std::vector<ImprovementSearch::Found> ImprovementSearch::starts(VectorXd const& near, Uniform const& uniform) {
    std::vector<VectorXd> points;
    for (std::size_t i = 0; i < k_random_points; ++i)
        points.push_back(cube_.draw(uniform, i % 2 == 0 ? Cube::Density::even : Cube::Density::prior));
    VectorXd const values = values_at(points);
    Index best = 0;
    double const most = values.maxCoeff(&best);
    VectorXd shares = (values.array() - most).exp();
    std::vector<Found> out;
    for (Index chosen = best; out.size() + 1 < k_starts;) {
        out.push_back({points[static_cast<std::size_t>(chosen)], values[chosen]});
        shares[chosen] = 0;
        if (shares.sum() == 0) break;
        double place = uniform() * shares.sum();
        for (chosen = 0; chosen + 1 < shares.size() && (place -= shares[chosen]) > 0;) ++chosen;
    }
    for (auto& each : out) each.is_new = is_new_(cube_.assignment_at(each.at));
    VectorXd const known = near.cwiseMax(0);  // absent keys of lists get a value
    out.push_back({known, values_at({known})[0], false});
    return out;
}

// Only to new configurations; but a start that is not new may be left for a lower one.
bool ImprovementSearch::accept(Found& from, VectorXd at, double value) const {
    if (from.is_new && !(value > from.value)) return false;
    if (!is_new_(cube_.assignment_at(at))) return false;
    from = {std::move(at), value, true};
    return true;
}

bool ImprovementSearch::ascend(Found& from) {
    std::vector<Index> moving;
    VectorXd const seen = seen_at(from.at);
    auto const present = cube_.present_at(from.at);
    for (Index i = 0; i < cube_.size(); ++i)
        if (has_gradient(cube_.side(i)) && present[static_cast<std::size_t>(i)]) moving.push_back(i);
    if (moving.empty()) return false;
    VectorXd const lengths = process_.kernel().precisions(moving).array().rsqrt();  // so that all parts curve alike
    auto const improvement = [&](VectorXd const& at, VectorXd& gradient) {
        VectorXd point = seen;
        point(moving) = at.cwiseProduct(lengths);
        auto const y = process_.at_one(point);
        auto [value, by_mean, by_variance] = log_improvement(y.mean, y.variance, aim_.best);
        VectorXd slopes = by_mean * y.mean_gradient + by_variance * y.variance_gradient;
        if (cube_.has_priors()) {
            VectorXd whole = from.at;
            whole(moving) = point(moving);
            value += aim_.prior_weight * cube_.log_prior(whole);
            slopes += aim_.prior_weight * cube_.log_prior_slopes(whole);
        }
        gradient = -slopes(moving).cwiseProduct(lengths);
        return -value;
    };
    VectorXd const start = seen(moving).cwiseQuotient(lengths);
    auto const found = minimize(improvement, start, {VectorXd::Zero(start.size()), lengths.cwiseInverse()},
                                {.steps = 50, .small_gradient = 1e-2});
    VectorXd at = from.at;
    at(moving) = found.at.cwiseProduct(lengths).cwiseMax(0.0).cwiseMin(1.0);
    for (auto const i : moving)
        if (auto const& side = cube_.side(i); side.values > 0) at[i] = cube_.place_of(side, cube_.value_at(side, at[i]));
    double const value = values_at({at})[0];
    return accept(from, std::move(at), value);
}

bool ImprovementSearch::try_values(Found& from, Index index) {
    auto const& side = cube_.side(index);
    if (side.values == 0) return false;
    if (!cube_.present_at(from.at)[static_cast<std::size_t>(index)]) return false;
    std::vector<VectorXd> points;
    for (auto const value : others_near(side, cube_.value_at(side, from.at[index]))) {
        points.push_back(from.at);
        points.back()[index] = cube_.place_of(side, value);
    }
    VectorXd const values = values_at(points);
    std::vector<Index> order(points.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::stable_sort(order, std::greater(), [&](Index i) { return values[i]; });
    return std::ranges::any_of(order, [&](Index i) { return accept(from, points[static_cast<std::size_t>(i)], values[i]); });
}

void ImprovementSearch::climb(Found& from) {
    for (int round = 0; round < k_rounds && left_ > 0; ++round) {
        double const before = from.is_new ? from.value : -std::numeric_limits<double>::infinity();
        ascend(from);
        for (Index i = 0; i < cube_.size() && left_ > 0; ++i) try_values(from, i);
        if (!from.is_new || from.value - before < k_little) return;
    }
}

std::optional<Assignment> ImprovementSearch::find(VectorXd const& near, Uniform const& uniform) {
    left_ = k_most_compared;
    auto found = starts(near, uniform);
    for (auto& each : found) climb(each);
    Found const* best = nullptr;
    for (auto const& each : found)
        if (each.is_new && (best == nullptr || each.value > best->value)) best = &each;
    return best == nullptr ? std::nullopt : std::optional(cube_.assignment_at(best->at));
}

}  // namespace hopscotch
