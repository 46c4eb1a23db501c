// SPDX-License-Identifier: Apache-2.0
// Prints the plan of a run, for --dry-run.
#pragma once

namespace hopscotch {

struct PreparedRun;

// Trials, units, hops, the makespan of the schedule over its lower bound, and hours where an earlier run tells the speed of
// the trainers. Throws ConfigError for shards that the trainers of a run would refuse.
void print_plan(PreparedRun const& prepared);

}  // namespace hopscotch
