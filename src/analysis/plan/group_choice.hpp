// SPDX-License-Identifier: Apache-2.0
// Whether groups of trainers (strategy.group_size) would make a run of few trials faster, by the cost model and a
// simulation.
#pragma once
#include <optional>
#include <string>

namespace hopscotch {

struct PreparedRun;

struct GroupChoice {
    int group_size = 2;
    double seconds = 0, seconds_now = 0;  // makespans
};

// None: groups would not be a tenth faster, cannot be, or seconds are not known. Only for runs of mop without groups, with
// fewer trials than trainers; the best size of all that divide the number of shards. At the speed of an earlier run
// (search.start_from, or in run.dir), and with the links that `hopscotch plan` assumes. The fixed cost of a step is not
// known: half of the step's time is assumed. `hopscotch plan` itself asks proposed_groups() (planned_run.hpp).
std::optional<GroupChoice> choose_groups(PreparedRun const& prepared);

std::string text_of(GroupChoice const& choice, PreparedRun const& prepared);

}  // namespace hopscotch
