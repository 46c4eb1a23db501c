// SPDX-License-Identifier: Apache-2.0
// Everything that rank 0 reads, checks and decides before it starts anything. So bad input ends a run with exit code 2 and
// nothing written, and --dry-run shows exactly what a run would do.
#pragma once
#include <functional>
#include <string>

#include "job/prepared_run.hpp"

namespace hopscotch {

struct RunOptions;

// Shards are dealt out equally where the strategy has no choice, to groups of trainers, and where rank 0 dispatches: its
// matchmakers know one holder of a shard.
OwnersBy owners_by(PreparedRun const& prepared);

// FLOPs of one unit of a trial, on each trainer that trains it. shards: files.
double unit_cost_of(TrialConfig const& config, DataSchema const& schema, int shards);

// Throws ConfigError with all problems of the experiment, the dataset and the run directory at once. trainers_of: the number
// of trainers of the job; may throw ConfigError. groups_of: the value of strategy.group_size "auto" in a new run; it gets
// the run prepared without groups. Without groups_of there are none.
struct ChosenGroups {
    int size = 1;
    std::string why;
};
PreparedRun prepare_run(RunOptions const& options, std::function<int(RunConfig const&)> const& trainers_of,
                        std::function<ChosenGroups(PreparedRun const&)> const& groups_of = {});

// Throws CommError that names a file of the model that was replaced since the job began.
void require_same_files(PreparedRun const& prepared);

// A file of this model that the run did not begin with; empty: there is none. An order must not bring one: otherwise the
// writer of an order could choose the code that the job executes.
std::string new_file_of(PreparedRun const& prepared, ModelConfig const& model);

// The same job after a loss: reads the rest of the work from the run directory. The owners stay as they are now.
void prepare_to_go_on(PreparedRun& prepared);

// For trainers that are threads of one process: throws ConfigError if several of them would train a model that draws from
// torch's own random generator.
void check_threads(PreparedRun const& prepared);

}  // namespace hopscotch
