// SPDX-License-Identifier: Apache-2.0
// The status of every trial, from the journal alone.
#pragma once
#include <map>
#include <string>

#include "core/ids.hpp"

namespace hopscotch {

struct Journal;

struct StatusOfTrial {
    std::string status = "running";  // a name of TrialStatus; a trial with a released lap that has not ended is running
    std::string reason;
};

std::map<TrialId, StatusOfTrial> trial_states(Journal const& journal);

}  // namespace hopscotch
