// SPDX-License-Identifier: Apache-2.0
// The searched values of one trial.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/json.hpp"

namespace hopscotch {

// The searched values of one trial: (dotted path, value) in the order of the space.
using Assignment = std::vector<std::pair<std::string, Json>>;

}  // namespace hopscotch
