// SPDX-License-Identifier: Apache-2.0
// Every configuration of a finite space, the last declared key fastest.
#pragma once
#include <optional>
#include <vector>

#include "experiment/space.hpp"

namespace hopscotch {

// Without repetitions: what `when` switches off is absent and not multiplied, what `forbid` excludes is left out.
// None if a parameter has endlessly many values or the product exceeds a million.
std::optional<std::vector<Assignment>> every_configuration(Space const& space);

}  // namespace hopscotch
