// SPDX-License-Identifier: Apache-2.0
// A key of the space as a range of numbers, for samplers that learn. A value of a list is its index.
#pragma once
#include <cstddef>

#include "experiment/space.hpp"

namespace hopscotch {

struct Axis {
    std::size_t categories = 0;    // 0: a number between low and high
    double low = 0, high = 1;      // of steps and integers: half a step wider
    double step = 0;               // 0: continuous
    bool log = false;              // the logarithm is what is even
    Prior const* prior = nullptr;  // the parameter's, if it has one
};

Axis axis_of(Parameter const& parameter);
double scaled(Axis const& axis, double x);  // the logarithm on a log axis
double unscaled(Axis const& axis, double x);

bool has_one_value(Parameter const& parameter);  // nothing to learn, and a range of width 0
double to_number(Parameter const& parameter, Json const& value);
Json to_value(Parameter const& parameter, double number);  // the nearest one

}  // namespace hopscotch
