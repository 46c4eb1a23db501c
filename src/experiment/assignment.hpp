// SPDX-License-Identifier: Apache-2.0
// The searched values of one trial.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.hpp"

namespace hopscotch {

// The searched values of one trial: (dotted path, value) in the order of the space.
using Assignment = std::vector<std::pair<std::string, Json>>;

// Entries at the end of the assignment of a copy of a configuration: the numbers of its repeat and of its fold.
inline constexpr std::string_view k_repeat_entry = "search.repeat", k_fold_entry = "search.fold";

}  // namespace hopscotch
