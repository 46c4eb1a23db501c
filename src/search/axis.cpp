// SPDX-License-Identifier: Apache-2.0
#include "search/axis.hpp"

#include <algorithm>
#include <cmath>

#include "experiment/steps.hpp"

namespace hopscotch {

Axis axis_of(Parameter const& parameter) {
    Axis out;
    if (parameter.prior) out.prior = &*parameter.prior;
    if (!is_range(parameter)) {
        out.categories = parameter.values.size();
        return out;
    }
    out.step = step_of(parameter);
    out.low = parameter.low - out.step / 2;
    out.high = (out.step > 0 ? parameter.low + last_step(parameter) * out.step : parameter.high) + out.step / 2;
    out.log = parameter.log;
    return out;
}

double scaled(Axis const& axis, double x) { return axis.log ? std::log(x) : x; }
double unscaled(Axis const& axis, double x) { return axis.log ? std::exp(x) : x; }

bool has_one_value(Parameter const& parameter) {
    return is_range(parameter) ? parameter.low == parameter.high : parameter.values.size() == 1;
}

double to_number(Parameter const& parameter, Json const& value) {
    if (is_range(parameter)) return value.number();
    auto const at = std::find(parameter.values.begin(), parameter.values.end(), value);
    return static_cast<double>(at - parameter.values.begin());
}

Json to_value(Parameter const& parameter, double number) {
    if (!is_range(parameter)) return parameter.values[static_cast<std::size_t>(number)];
    double const value = std::clamp(number, parameter.low, parameter.high);
    bool const binary = parameter.type == Parameter::Type::real && parameter.step_values == StepValues::binary;
    return has_steps(parameter) && !binary ? nearest_step(parameter, value) : Json(value);
}

}  // namespace hopscotch
