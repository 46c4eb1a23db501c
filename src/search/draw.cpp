// SPDX-License-Identifier: Apache-2.0
#include "search/draw.hpp"

#include <algorithm>
#include <cmath>

namespace hopscotch {
namespace {

double between_uniform(double low, double high, Uniform const& uniform) { return low + (high - low) * uniform(); }

// To the nearest low + i * step within the bounds (ties to even, as NumPy rounds).
double on_steps(Parameter const& parameter, double step, double value) {
    double const top = parameter.low + step * std::floor((parameter.high - parameter.low) / step + 1e-9);
    return std::clamp(std::nearbyint((value - parameter.low) / step) * step + parameter.low, parameter.low, top);
}

double draw_real(Parameter const& parameter, Uniform const& uniform) {
    auto const [low, high] = std::pair(parameter.low, parameter.high);
    if (parameter.log) return std::clamp(std::exp(between_uniform(std::log(low), std::log(high), uniform)), low, high);
    if (!parameter.step) return std::min(between_uniform(low, high, uniform), high);
    double const step = *parameter.step;
    double const top = low + step * std::floor((high - low) / step + 1e-9);
    return on_steps(parameter, step, between_uniform(low - step / 2, top + step / 2, uniform));
}

double draw_integer(Parameter const& parameter, Uniform const& uniform) {
    auto const [low, high] = std::pair(parameter.low, parameter.high);
    if (parameter.log)
        return std::clamp(std::nearbyint(std::exp(between_uniform(std::log(low - 0.5), std::log(high + 0.5), uniform))), low,
                          high);
    double const step = parameter.step.value_or(1);
    double const top = low + step * std::floor((high - low) / step);
    return on_steps(parameter, step, between_uniform(low - step / 2, top + step / 2, uniform));
}

Json draw_choice(Parameter const& parameter, Uniform const& uniform) {
    std::size_t best = 0;
    double largest = -1;
    for (std::size_t i = 0; i < parameter.values.size(); ++i)
        if (double const u = uniform(); u > largest) {
            largest = u;
            best = i;
        }
    return parameter.values[best];
}

}  // namespace

Json draw(Parameter const& parameter, Uniform const& uniform) {
    switch (parameter.type) {
        case Parameter::Type::real: return draw_real(parameter, uniform);
        case Parameter::Type::integer: return static_cast<std::int64_t>(draw_integer(parameter, uniform));
        case Parameter::Type::choice: return draw_choice(parameter, uniform);
        case Parameter::Type::constant: break;
    }
    return parameter.values.front();
}

Json value_at(Parameter const& parameter, double place) {
    if (parameter.type != Parameter::Type::choice) return draw(parameter, [place] { return place; });
    auto const n = parameter.values.size();
    return parameter.values[std::min(static_cast<std::size_t>(place * static_cast<double>(n)), n - 1)];
}

Assignment draw(Space const& space, Uniform const& uniform) {
    Assignment out;
    for (auto index : space.order)
        if (auto const& parameter = space.parameters[index]; is_active(parameter, out))
            out.emplace_back(parameter.path, draw(parameter, uniform));
    return in_order(space, out);
}

}  // namespace hopscotch
