// SPDX-License-Identifier: Apache-2.0
// Whether two runs can be compared: only if they did the same work, with the same data, models, space, search and epochs, to
// the end.
#pragma once
#include <string>
#include <vector>

#include "analysis/compare/compared_run.hpp"

namespace hopscotch {

// The reasons against a comparison, a line each, with both runs and both values; empty: the runs can be compared.
std::vector<std::string> reasons_against(ComparedRun const& base, ComparedRun const& other);

// Other settings that differ (seed, data, train, hosts, version), in the same form. They do not prevent a comparison.
std::vector<std::string> other_differences(ComparedRun const& base, ComparedRun const& other);

}  // namespace hopscotch
