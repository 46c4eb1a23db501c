// SPDX-License-Identifier: Apache-2.0
#include "experiment/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace hopscotch {
namespace {

// Digits after the point of the shortest decimal of a number: 2 for 0.25, 5 for 1e-05, 0 for 3.
int decimals_of(double value) {
    auto const text = fmt::format("{}", value);
    auto const end = std::min(text.find('e'), text.size());
    auto const point = std::min(text.find('.'), end);
    int const behind = point < end ? static_cast<int>(end - point) - 1 : 0;
    int const exponent = end < text.size() ? std::atoi(text.c_str() + end + 1) : 0;
    return std::max(0, behind - exponent);
}

double rounded(double value, int decimals) {
    auto const text = fmt::format("{:.{}f}", value, decimals);
    double out = value;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out == 0 ? 0 : out;  // never -0
}

// A decimal of few digits next to the value, where rounding alone has made the difference; else the value. scale: the size
// of the numbers from which the value was computed.
double short_decimal(double value, double scale) {
    int const digits = 14 - static_cast<int>(std::ceil(std::log10(scale)));
    if (digits < 0 || digits > 300) return value;
    double const near = rounded(value, digits);
    return decimals_of(near) + 3 <= digits ? near : value;  // 1/3 has no short decimal
}

// Rounding of a number of this size, beside a step.
double tolerance(Parameter const& parameter, double value) {
    double const size = std::max({std::abs(value), std::abs(parameter.low), std::abs(parameter.high)});
    return std::min(1e-9 * step_of(parameter) + 4 * std::numeric_limits<double>::epsilon() * size, step_of(parameter) / 4);
}

bool lies_between_steps(Parameter const& parameter, double value) {
    double const step = step_of(parameter), i = std::nearbyint((value - parameter.low) / step);
    return std::abs(parameter.low + i * step - value) > tolerance(parameter, value);
}

// Of a condition: numbers that equal a value of the parameter but for rounding become exactly that value.
void fit(Condition& condition, Parameter const& parameter) {
    auto const fitted = [&](double bound) {
        auto const value = value_in_range(parameter, Json(bound));
        return value ? value->number() : bound;
    };
    for (auto& value : condition.any_of)
        if (auto const known = value_in_range(parameter, value)) {
            auto const at = value.at_position();
            value = *known;
            value.place(at);
        }
    if (condition.above) condition.above = fitted(*condition.above);
    if (condition.below) condition.below = fitted(*condition.below);
}

// Can values of the two keys meet the condition?
bool can_compare(Condition const& condition, Parameter const& parameter, Space const& space) {
    auto const other = [&](std::string const& key) -> Parameter const& {
        return *std::ranges::find(space.parameters, key, &Parameter::path);
    };
    if (!condition.above_key.empty() && highest(parameter) <= lowest(other(condition.above_key))) return false;
    return condition.below_key.empty() || lowest(parameter) < highest(other(condition.below_key));
}

// Can a value of the parameter meet the condition?
bool can_hold(Condition const& whole, Parameter const& parameter, Space const& space) {
    if (!can_compare(whole, parameter, space)) return false;
    Condition condition = whole;  // what is left to hold
    condition.above_key.clear();
    condition.below_key.clear();
    if (condition.any_of.empty() && !condition.above && !condition.below) return true;
    auto const meets = [&](Json const& value) { return holds(condition, {{parameter.path, value}}); };
    if (!is_range(parameter)) return std::ranges::any_of(parameter.values, meets);
    if (!condition.any_of.empty())
        return std::ranges::any_of(condition.any_of,
                                   [&](Json const& value) { return value_in_range(parameter, value).has_value(); });
    if (parameter.count) {
        auto const all = all_values(parameter);
        return !all || std::ranges::any_of(*all, meets);
    }
    double const above = condition.above.value_or(-std::numeric_limits<double>::infinity());
    double const below = condition.below.value_or(std::numeric_limits<double>::infinity());
    if (!has_steps(parameter)) return above < parameter.high && below > parameter.low && above < below;
    double const first = std::floor((std::max(above, parameter.low) - parameter.low) / step_of(parameter));
    return meets(step_value(parameter, first)) || meets(step_value(parameter, first + 1));
}

std::string text_of(Condition const& condition) {
    if (!condition.any_of.empty()) return condition.any_of.back().dump();  // as it was written
    auto const above = condition.above                ? fmt::format("above {}", *condition.above)
                       : !condition.above_key.empty() ? "above " + condition.above_key
                                                      : "";
    auto const below = condition.below                ? fmt::format("below {}", *condition.below)
                       : !condition.below_key.empty() ? "below " + condition.below_key
                                                      : "";
    return above + (above.empty() || below.empty() ? "" : " and ") + below;
}

// The first condition that cannot hold. dead: parameters that no configuration has.
Condition const* first_impossible(std::vector<Condition> const& conditions, Space const& space,
                                  std::vector<std::string> const& dead) {
    auto const found = std::ranges::find_if(conditions, [&](Condition const& condition) {
        auto const parameter = std::ranges::find(space.parameters, condition.path, &Parameter::path);
        auto const is_dead = [&](std::string const& key) { return std::ranges::find(dead, key) != dead.end(); };
        return std::ranges::any_of(condition.keys(), is_dead) || !can_hold(condition, *parameter, space);
    });
    return found == conditions.end() ? nullptr : &*found;
}

}  // namespace

double lowest(Parameter const& parameter) {
    if (is_range(parameter)) return parameter.low;
    return std::ranges::min(parameter.values, {}, [](Json const& value) { return value.number(); }).number();
}

double highest(Parameter const& parameter) {
    if (has_steps(parameter)) return step_value(parameter, last_step(parameter)).number();
    if (is_range(parameter)) return parameter.high;
    return std::ranges::max(parameter.values, {}, [](Json const& value) { return value.number(); }).number();
}

bool has_steps(Parameter const& parameter) {
    return parameter.type == Parameter::Type::integer || (parameter.type == Parameter::Type::real && parameter.step);
}

double step_of(Parameter const& parameter) {
    return parameter.step.value_or(parameter.type == Parameter::Type::integer ? 1 : 0);
}

// A hair of tolerance: 0.1, 0.2, 0.3 reaches a high of 0.3.
double last_step(Parameter const& parameter) {
    return std::floor((parameter.high - parameter.low) / step_of(parameter) + 1e-9);
}

Json step_value(Parameter const& parameter, double i) {
    double const step = step_of(parameter);
    double const sum = parameter.low + step * std::clamp(i, 0.0, last_step(parameter));
    if (parameter.type == Parameter::Type::integer) return Json(static_cast<std::int64_t>(std::llround(sum)));
    if (parameter.step_values == StepValues::binary) return Json(std::min(sum, parameter.high));
    return Json(std::min(rounded(sum, std::max(decimals_of(parameter.low), decimals_of(step))), parameter.high));
}

Json nearest_step(Parameter const& parameter, double value) {
    return step_value(parameter, std::nearbyint((value - parameter.low) / step_of(parameter)));
}

std::optional<Json> value_in_range(Parameter const& parameter, Json const& value) {
    if (!value.is_number()) return std::nullopt;
    double const number = value.number();
    if (has_steps(parameter)) {
        auto const near = nearest_step(parameter, number);
        return std::abs(near.number() - number) <= tolerance(parameter, number) ? std::optional(near) : std::nullopt;
    }
    if (number < parameter.low || number > parameter.high) return std::nullopt;
    if (parameter.count)
        for (auto const& point : all_values(parameter).value_or(std::vector<Json>()))
            if (std::abs(point.number() - number) <= 1e-12 * std::abs(number)) return point;
    return value;
}

std::string not_in_space(Parameter const& parameter, Json const& value) {
    auto const problem = fmt::format("{} is not in the space", value.dump());
    if (!is_range(parameter) || !value.is_number()) return problem;
    double const number = value.number();
    if (number < parameter.low || number > parameter.high)
        return fmt::format("{} (the range is {} to {}, both inclusive)", problem, parameter.low, parameter.high);
    if (!has_steps(parameter)) return problem;
    double const i = std::floor((number - parameter.low) / step_of(parameter));
    auto const lower = step_value(parameter, i).dump(), upper = step_value(parameter, i + 1).dump();
    if (lower == upper) return fmt::format("{} (the last step of the range is {}); write {}", problem, lower, lower);
    return fmt::format("{} (it lies between two steps); write {} or {}", problem, lower, upper);
}

void fit_conditions(Space& space, Problems& problems) {
    auto const fit_all = [&](std::vector<Condition>& conditions, std::string const& path) {
        for (auto& condition : conditions) {
            auto const parameter = std::ranges::find(space.parameters, condition.path, &Parameter::path);
            if (parameter == space.parameters.end() || !is_range(*parameter)) continue;
            if (parameter->step_values == StepValues::binary) continue;  // as the earlier version compared
            fit(condition, *parameter);
            for (auto const& value : condition.any_of)
                if (value.is_number() && has_steps(*parameter) && lies_between_steps(*parameter, value.number()))
                    problems.add(value.at_position(), path + "/" + condition.path, not_in_space(*parameter, value));
        }
    };
    for (auto& parameter : space.parameters) fit_all(parameter.when, "/space/" + parameter.path + "/when");
    for (std::size_t i = 0; i < space.forbid.size(); ++i) fit_all(space.forbid[i], fmt::format("/search/forbid/{}", i));
}

std::vector<std::string> rules_never_met(Space const& space) {
    std::vector<std::string> out, dead;
    for (auto index : space.order) {
        auto const& parameter = space.parameters[index];
        auto const* never = first_impossible(parameter.when, space, dead);
        if (never == nullptr) continue;
        dead.push_back(parameter.path);
        out.push_back(fmt::format("/space/{}/when can never hold ({} is never {}); no trial has {}", parameter.path,
                                  never->path, text_of(*never), parameter.path));
    }
    for (std::size_t i = 0; i < space.forbid.size(); ++i)
        if (auto const* never = first_impossible(space.forbid[i], space, dead))
            out.push_back(fmt::format("/search/forbid/{} can never hold ({} is never {}); it excludes nothing", i,
                                      never->path, text_of(*never)));
    return out;
}

double counted_value(Parameter const& parameter, double i, double points) {
    auto const [low, high] = std::pair(parameter.low, parameter.high);
    double const part = points > 1 ? i / (points - 1) : 0;
    if (part == 0) return low;
    if (part == 1) return high;  // exactly, whatever exp(log()) makes of it
    double const value = std::min(
        parameter.log ? std::exp(std::lerp(std::log(low), std::log(high), part)) : std::lerp(low, high, part), high);
    if (parameter.step_values == StepValues::binary) return value;
    return short_decimal(value, parameter.log ? value : std::max(std::abs(low), std::abs(high)));
}

}  // namespace hopscotch
