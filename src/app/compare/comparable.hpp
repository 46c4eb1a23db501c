// SPDX-License-Identifier: Apache-2.0
// May two runs be compared? Only when they did the same work: same data, models, space, search and epochs, to the end.
#pragma once
#include <string>
#include <vector>

#include "app/compare/compared_run.hpp"

namespace hopscotch {

// Why not, a line each, with both runs and both values; empty: they may.
std::vector<std::string> reasons_against(ComparedRun const& base, ComparedRun const& other);

// Other settings that differ (seed, data, train, hosts, version), likewise: allowed, but the reader should know.
std::vector<std::string> other_differences(ComparedRun const& base, ComparedRun const& other);

}  // namespace hopscotch
