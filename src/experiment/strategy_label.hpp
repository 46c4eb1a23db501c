// SPDX-License-Identifier: Apache-2.0
// The name of a run beside other runs: its strategy and settings, such as "parameter_server async s=1".
#pragma once
#include <string>

#include "core/json.hpp"

namespace hopscotch {

// The main setting always, others if they differ from their defaults. experiment: the document.
std::string strategy_label(Json const& experiment, std::string const& strategy);

}  // namespace hopscotch
