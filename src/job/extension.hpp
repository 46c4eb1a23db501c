// SPDX-License-Identifier: Apache-2.0
// Whether a run may go on with more trials than it began with (docs/decisions/0051).
#pragma once
#include <string>

#include "core/json.hpp"

namespace hopscotch {

struct Experiment;
struct Journal;

// A changed search.trials. Empty: the run may go on with it; else the reason why not.
std::string why_not_more_trials(Json const& before, Experiment const& now, Journal const& journal);

}  // namespace hopscotch
