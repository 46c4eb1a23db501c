// SPDX-License-Identifier: Apache-2.0
#include "search/cube.hpp"

#include <algorithm>
#include <cmath>

#include "experiment/steps.hpp"
#include "search/normal.hpp"

namespace hopscotch {
namespace {

std::size_t values_of(Parameter const& parameter) {
    if (!is_range(parameter)) return parameter.values.size();
    return has_steps(parameter) ? static_cast<std::size_t>(last_step(parameter)) + 1 : 0;
}

double to_place(Axis const& axis, double number) {
    if (axis.categories > 0) return number;
    double const low = scaled(axis, axis.low), high = scaled(axis, axis.high);
    return (scaled(axis, number) - low) / (high - low);
}

double to_number(Axis const& axis, double place) {
    if (axis.categories > 0) return place;
    return unscaled(axis, std::lerp(scaled(axis, axis.low), scaled(axis, axis.high), place));
}

CutNormal normal_of(Cube::Side const& side) {
    return {to_place(side.axis, side.axis.prior->guess), side.axis.prior->deviation, 0, 1};
}

// u in [0, 1)
double drawn_from_prior(Cube::Side const& side, double u) {
    if (!side.is_category()) {
        auto const normal = normal_of(side);
        return std::clamp(normal.quantile(u, normal.mass()), 0.0, 1.0);
    }
    auto const& weights = side.axis.prior->weights;
    std::size_t index = 0;
    for (; index + 1 < weights.size() && u >= weights[index]; ++index) u -= weights[index];
    return static_cast<double>(index);
}

}  // namespace

Cube::Cube(Space const& space) : space_(space), is_compared_(space.parameters.size()) {
    for (std::size_t i = 0; i < is_compared_.size(); ++i)
        is_compared_[i] = std::ranges::any_of(space.parameters, [&](Parameter const& each) {
            return std::ranges::any_of(each.when, [&](Condition const& condition) {
                auto const keys = condition.keys();
                return std::ranges::find(keys, space.parameters[i].path) != keys.end();
            });
        });
    for (auto const& parameter : space.parameters) {
        has_conditions_ |= !parameter.when.empty();
        has_priors_ |= parameter.prior.has_value();
        side_of_.push_back(has_one_value(parameter) ? -1 : size());
        if (!has_one_value(parameter)) sides_.push_back({&parameter, axis_of(parameter), values_of(parameter)});
    }
}

double Cube::place_of(Side const& side, std::size_t value) const {
    auto const i = static_cast<double>(value);
    return to_place(side.axis, side.is_category() ? i : side.parameter->low + i * side.axis.step);
}

std::size_t Cube::value_at(Side const& side, double place) const {
    double const number = to_number(side.axis, place);
    double const i = side.is_category() ? number : std::nearbyint((number - side.parameter->low) / side.axis.step);
    return static_cast<std::size_t>(std::clamp(i, 0.0, static_cast<double>(side.values - 1)));
}

Eigen::VectorXd Cube::draw(Uniform const& uniform, Density density) const {
    Eigen::VectorXd out(size());
    for (Eigen::Index i = 0; i < size(); ++i) {
        auto const& each = side(i);
        double u = uniform();
        bool const by_prior = density == Density::prior && each.axis.prior != nullptr;
        if (by_prior) u = drawn_from_prior(each, u);
        if (each.is_category())
            out[i] = by_prior ? u : std::floor(u * static_cast<double>(each.values));
        else
            out[i] = each.values == 0 ? u : place_of(each, value_at(each, u));
    }
    return out;
}

Eigen::VectorXd Cube::guess() const {
    Eigen::VectorXd out = Eigen::VectorXd::Constant(size(), 0.5);
    for (Eigen::Index i = 0; i < size(); ++i)
        if (side(i).axis.prior != nullptr && !side(i).is_category())
            out[i] = to_place(side(i).axis, side(i).axis.prior->guess);
    return out;
}

double Cube::log_prior(Eigen::VectorXd const& point) const {
    double out = 0;
    auto const present = present_at(point);
    for (Eigen::Index i = 0; i < size(); ++i) {
        auto const& [parameter, axis, values] = side(i);
        if (axis.prior == nullptr || !present[static_cast<std::size_t>(i)]) continue;
        out += axis.categories > 0
                   ? std::log(axis.prior->weights[static_cast<std::size_t>(point[i])] * static_cast<double>(values))
                   : normal_of(side(i)).log_density(point[i]);
    }
    return out;
}

Eigen::VectorXd Cube::log_prior_slopes(Eigen::VectorXd const& point) const {
    Eigen::VectorXd out = Eigen::VectorXd::Zero(size());
    auto const present = present_at(point);
    for (Eigen::Index i = 0; i < size(); ++i) {
        if (side(i).axis.prior == nullptr || side(i).is_category() || !present[static_cast<std::size_t>(i)]) continue;
        auto const normal = normal_of(side(i));
        out[i] = (normal.mean - point[i]) / (normal.sigma * normal.sigma);
    }
    return out;
}

std::vector<bool> Cube::present_at(Eigen::VectorXd const& point) const {
    std::vector<bool> out(sides_.size(), true);
    if (!has_conditions_) return out;
    Assignment compared;  // other keys decide nothing
    for (auto const index : space_.order) {
        bool const active = is_active(space_.parameters[index], compared);
        if (active && is_compared_[index])
            compared.emplace_back(space_.parameters[index].path, value_of_parameter(index, point));
        if (!active && side_of_[index] >= 0) out[static_cast<std::size_t>(side_of_[index])] = false;
    }
    return out;
}

Eigen::VectorXd Cube::with_absent_at_rest(Eigen::VectorXd const& point) const {
    Eigen::VectorXd out = point;
    auto const present = present_at(point);
    for (std::size_t i = 0; i < sides_.size(); ++i)
        if (!present[i]) out[static_cast<Eigen::Index>(i)] = sides_[i].rest();
    return out;
}

Eigen::VectorXd Cube::point_of(Assignment const& assignment) const {
    Eigen::VectorXd out(size());
    for (Eigen::Index i = 0; i < size(); ++i) {
        auto const& each = side(i);
        auto const* value = value_of(assignment, each.parameter->path);
        out[i] = value != nullptr ? to_place(each.axis, hopscotch::to_number(*each.parameter, *value)) : each.rest();
    }
    return out;
}

Json Cube::value_of_parameter(std::size_t index, Eigen::VectorXd const& point) const {
    auto const& parameter = space_.parameters[index];
    auto const at = side_of_[index];
    double const number = at >= 0 ? to_number(side(at).axis, point[at]) : is_range(parameter) ? parameter.low : 0;
    return to_value(parameter, number);
}

Assignment Cube::assignment_at(Eigen::VectorXd const& point) const {
    Assignment out;
    for (auto const index : space_.order) {
        auto const& parameter = space_.parameters[index];
        if (is_active(parameter, out)) out.emplace_back(parameter.path, value_of_parameter(index, point));
    }
    return in_order(space_, out);
}

}  // namespace hopscotch
