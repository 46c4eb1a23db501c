// SPDX-License-Identifier: Apache-2.0
// Everything that rank 0 reads, checks and decides before it starts anything. So bad input ends a run with exit code 2 and
// nothing written, and --dry-run shows exactly what a run would do.
#pragma once
#include <functional>
#include <string>

#include "job/prepared_run.hpp"

namespace hopscotch {

struct RunOptions;

// Throws ConfigError with all problems of the experiment, the dataset and the run directory at once. trainers_of: the number
// of trainers of the job; may throw ConfigError. groups_of: the value of strategy.group_size "auto" in a new run; it gets
// the run prepared without groups. Without groups_of there are none.
struct ChosenGroups {
    int size = 1;
    std::string why;
};
PreparedRun prepare_run(RunOptions const& options, std::function<int(RunConfig const&)> const& trainers_of,
                        std::function<ChosenGroups(PreparedRun const&)> const& groups_of = {});

// The same job after a loss: reads the rest of the work from the run directory. The owners stay as they are now.
void prepare_to_go_on(PreparedRun& prepared);

}  // namespace hopscotch
