// SPDX-License-Identifier: Apache-2.0
// The values of a range with steps or a count. low + i * step is the decimal that people write: 0.3, although the sum
// 0.1 + 2 * 0.1 of binary numbers is 0.30000000000000004. So values can be compared for equality.
#pragma once
#include <optional>
#include <string>

#include "experiment/space.hpp"

namespace hopscotch {

// An int, or a float with a step: its values are low + i * step.
bool has_steps(Parameter const& parameter);

// Of a range, or of a list of numbers.
double lowest(Parameter const& parameter);
double highest(Parameter const& parameter);  // that a step meets

double step_of(Parameter const& parameter);             // 0: none
double last_step(Parameter const& parameter);           // the i of the highest value; needs steps
Json step_value(Parameter const& parameter, double i);  // i is cut to 0 ... last_step()
Json nearest_step(Parameter const& parameter, double value);

// The value of the range that this number is, but for rounding: 0.30000000000000004 is 0.3. None: not one of its values.
std::optional<Json> value_in_range(Parameter const& parameter, Json const& value);

// For a message: "0.35 is not in the space (it lies between two steps); write 0.3 or 0.4".
std::string not_in_space(Parameter const& parameter, Json const& value);

// Makes the numbers of conditions on parameters with steps equal to the parameters' values. Reports numbers between two
// steps.
void fit_conditions(Space& space, Problems& problems);

// Notes, one for each `when` and each entry of `forbid` that no configuration can meet.
std::vector<std::string> rules_never_met(Space const& space);

// The i-th of `points` values from low to high, by equal differences or, with log, equal factors.
double counted_value(Parameter const& parameter, double i, double points);

}  // namespace hopscotch
