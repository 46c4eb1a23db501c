// SPDX-License-Identifier: Apache-2.0
// The numbers that a configuration has before anything is trained: search.subject_to and search.pareto name them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hopscotch {

struct Measures {
    double parameters = 0, state_mb = 0, flops_per_row = 0;
};

std::vector<std::string> measure_names();
double value_of(Measures const& measures, std::string_view name);  // throws Error that lists the known names

}  // namespace hopscotch
