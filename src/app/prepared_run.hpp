// SPDX-License-Identifier: Apache-2.0
// Everything rank 0 finds out and decides before it starts anything: so that bad input ends a run with exit code 2 and
// nothing written, and --dry-run shows just what a run would do.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/commands.hpp"
#include "app/resumption.hpp"
#include "data/dataset/data_schema.hpp"
#include "data/dataset/manifest.hpp"
#include "schedule/director.hpp"
#include "schedule/visit.hpp"
#include "search/plan.hpp"

namespace hopscotch {

struct PreparedRun {
    Experiment experiment;
    Manifest manifest;
    DataSchema schema;
    std::map<std::string, std::uint64_t> files;  // model_files(): xxh64 of each
    int trainers = 0;
    int shards = 0;
    OwnerTable owners;
    std::int64_t in_flight = 0, admits = 0;  // trials at a time: of those that there are; whatever there are
    std::unique_ptr<Director> director;
    SearchContext context;  // what the search knows besides the experiment
    SearchPlan plan;        // what the search will cost
    bool decides = false;   // the search does, on the way: trials come and go
    bool synthetic = false;
    // Once a job has started.
    std::uint64_t state_bytes = 0, weight_bytes = 0;  // of the largest trial, and of its parameters
    std::vector<std::string> hosts;                   // by trainer
    bool on_gpu = false;                              // some trainer is
    std::string collectives;                          // allreduce, model_averaging: "mpi" or "nccl"
    std::optional<double> training_since_s;           // monotonic: when the first lap was released
    std::string run_id;
    std::optional<Resumption> resumption;  // --resume, and there is a run to go on with
    std::vector<std::string> notes;        // for the user: idle trainers, uneven shards, batches larger than a shard

    TrialConfig config_of(Assignment const& assignment) const;  // of a trial that has been checked
};

// FLOPs of one unit of a trial.
double unit_cost_of(Experiment const& experiment, Assignment const& assignment, DataSchema const& schema, int shards);

// Throws ConfigError with every problem of the experiment, the dataset and the run directory at once. trainers_of: how many
// trainers such a job has; may throw ConfigError.
PreparedRun prepare_run(RunOptions const& options, std::function<int(RunConfig const&)> const& trainers_of);

// Throws CommError that names a file of the model that was replaced since the job began.
void require_same_files(PreparedRun const& prepared);

// The same job after a loss: what is left to do is read from the run directory, the owners are as they are now.
void prepare_to_go_on(PreparedRun& prepared);

// For trainers that are threads of one process: throws ConfigError if more than one of them would train a model that draws
// from torch's own generator.
void check_threads(PreparedRun const& prepared);

// What a run would do: trials, units, hops, the makespan of the schedule over its lower bound, and hours where an earlier
// run tells what a FLOP takes.
void print_plan(PreparedRun const& prepared);

}  // namespace hopscotch
