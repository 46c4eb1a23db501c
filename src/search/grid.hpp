// SPDX-License-Identifier: Apache-2.0
// Every configuration of a finite space, the last declared key fastest.
#pragma once
#include <optional>
#include <vector>

#include "experiment/space.hpp"

namespace hopscotch {

// Without repetitions. A key that `when` switches off is absent and not multiplied; `forbid` removes configurations. None if
// a parameter has infinitely many values or the product exceeds a million.
std::optional<std::vector<Assignment>> every_configuration(Space const& space);

}  // namespace hopscotch
