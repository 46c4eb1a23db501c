// SPDX-License-Identifier: Apache-2.0
#include "search/draw.hpp"

#include <algorithm>
#include <cmath>

#include "experiment/steps.hpp"
#include "search/normal.hpp"

namespace hopscotch {
namespace {

// Of a scale from low to high: that of the parameter, or its logarithm.
double between(Parameter const& parameter, double low, double high, Uniform const& uniform) {
    if (!parameter.prior || low == high) return low + (high - low) * uniform();
    auto const& [guess, deviation, weights] = *parameter.prior;
    CutNormal const normal{parameter.log ? std::log(guess) : guess, deviation * (high - low), low, high};
    return std::clamp(normal.quantile(uniform(), normal.mass()), low, high);
}

// On the steps, each as likely (ties to even, as NumPy rounds).
Json draw_step(Parameter const& parameter, Uniform const& uniform) {
    double const low = parameter.low, step = step_of(parameter);
    double const top = low + step * last_step(parameter);
    double const value = between(parameter, low - step / 2, top + step / 2, uniform);
    if (parameter.step_values == StepValues::decimal || parameter.type == Parameter::Type::integer)
        return nearest_step(parameter, value);
    // The sums of earlier versions, which rounding may carry beyond `high` in draws (and not in grids).
    return Json(std::clamp(std::nearbyint((value - low) / step) * step + low, low, top));
}

double draw_real(Parameter const& parameter, Uniform const& uniform) {
    auto const [low, high] = std::pair(parameter.low, parameter.high);
    if (parameter.log) return std::clamp(std::exp(between(parameter, std::log(low), std::log(high), uniform)), low, high);
    return std::min(between(parameter, low, high, uniform), high);
}

double draw_log_integer(Parameter const& parameter, Uniform const& uniform) {
    auto const [low, high] = std::pair(parameter.low, parameter.high);
    return std::clamp(std::nearbyint(std::exp(between(parameter, std::log(low - 0.5), std::log(high + 0.5), uniform))), low,
                      high);
}

Json draw_choice(Parameter const& parameter, Uniform const& uniform) {
    auto const n = static_cast<double>(parameter.values.size());
    std::size_t best = 0;
    double largest = -1;
    for (std::size_t i = 0; i < parameter.values.size(); ++i) {
        double u = uniform();
        if (parameter.prior) u = std::pow(u, 1 / (parameter.prior->weights[i] * n));  // Efraimidis and Spirakis 2006
        if (u > largest) {
            largest = u;
            best = i;
        }
    }
    return parameter.values[best];
}

}  // namespace

Json draw(Parameter const& parameter, Uniform const& uniform) {
    if (has_steps(parameter) && !parameter.log) return draw_step(parameter, uniform);
    switch (parameter.type) {
        case Parameter::Type::real: return draw_real(parameter, uniform);
        case Parameter::Type::integer: return static_cast<std::int64_t>(draw_log_integer(parameter, uniform));
        case Parameter::Type::choice: return draw_choice(parameter, uniform);
        case Parameter::Type::constant: break;
    }
    return parameter.values.front();
}

Json value_at(Parameter const& parameter, double place) {
    if (parameter.type != Parameter::Type::choice) return draw(parameter, [place] { return place; });
    auto const n = parameter.values.size();
    auto index = static_cast<std::size_t>(place * static_cast<double>(n));
    if (parameter.prior) {
        auto const& weights = parameter.prior->weights;
        for (index = 0; index + 1 < n && place >= weights[index]; ++index) place -= weights[index];
    }
    return parameter.values[std::min(index, n - 1)];
}

Assignment draw(Space const& space, Uniform const& uniform) {
    Assignment out;
    for (auto index : space.order)
        if (auto const& parameter = space.parameters[index]; is_active(parameter, out))
            out.emplace_back(parameter.path, draw(parameter, uniform));
    return in_order(space, out);
}

}  // namespace hopscotch
