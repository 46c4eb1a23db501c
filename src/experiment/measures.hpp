// SPDX-License-Identifier: Apache-2.0
// The numbers that a configuration has before anything is trained: search.subject_to, objectives and pareto name them.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hopscotch {

struct Measures {
    double parameters = 0, state_mb = 0, flops_per_row = 0;
};

std::vector<std::string> measure_names();
bool is_measure(std::string_view name);
// Throw Error that lists the known names.
double value_of(Measures const& measures, std::string_view name);
double& value_in(Measures& measures, std::string_view name);

}  // namespace hopscotch
