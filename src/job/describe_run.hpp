// SPDX-License-Identifier: Apache-2.0
// The facts of a run that go into experiment.json beside the experiment.
#pragma once
#include <string>

namespace hopscotch {

struct PreparedRun;
struct RunFacts;

std::string new_run_id();  // unique for each run
RunFacts facts_of(PreparedRun const& prepared);

}  // namespace hopscotch
