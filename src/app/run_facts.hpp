// SPDX-License-Identifier: Apache-2.0
// What experiment.json says of a run besides the experiment.
#pragma once
#include <string>
#include <vector>

#include "app/prepared_run.hpp"

namespace hopscotch {

std::string new_run_id();  // no two runs have the same
RunFacts facts_of(PreparedRun const& prepared);

}  // namespace hopscotch
