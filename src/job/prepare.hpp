// SPDX-License-Identifier: Apache-2.0
// Everything that rank 0 reads, checks and decides before it starts anything. So bad input ends a run with exit code 2 and
// nothing written, and --dry-run shows exactly what a run would do.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset/data_schema.hpp"
#include "data/dataset/manifest.hpp"
#include "experiment/config.hpp"
#include "schedule/visit.hpp"
#include "search/context.hpp"
#include "search/plan.hpp"

namespace hopscotch {

class Director;
struct EarlierJobs;
class RunMeter;
struct RunOptions;
struct TrialView;

struct PreparedRun {
    PreparedRun();
    PreparedRun(PreparedRun&&) noexcept;
    PreparedRun& operator=(PreparedRun&&) noexcept;
    ~PreparedRun();

    Experiment experiment;
    Manifest manifest;
    DataSchema schema;
    std::map<std::string, std::uint64_t> files;  // model_files(): xxh64 of each
    int trainers = 0;
    // As the schedule sees them: with strategy.group_size > 1, bundles of shards, which groups of trainers own.
    int shards = 0;
    OwnerTable owners;
    bool equal_owners = false;               // not all trainers can open what other owners would give them
    std::int64_t in_flight = 0, admits = 0;  // trials at a time; in_flight: at most the number of trials
    RoutePlan routes;
    std::string other_bits;         // of a run with more trials: why a new run of all of them would have others
    std::string routes_and_number;  // why these routes, and this number in flight: for people
    std::unique_ptr<Director> director;
    SearchContext context;  // input of the search besides the experiment
    SearchPlan plan;        // trials and epochs of the search
    bool decides = false;   // the search decides during training: trials come and go
    bool synthetic = false;
    std::uint64_t state_bytes = 0, weight_bytes = 0;  // of the largest trial, and of its parameters; 0: not measured yet
    // Once a job has started.
    std::vector<std::string> hosts;          // by trainer
    bool on_gpu = false;                     // some trainer is
    std::string collectives;                 // allreduce, model_averaging: "mpi" or "nccl"
    std::optional<double> training_since_s;  // monotonic: when the first lap was released
    std::unique_ptr<RunMeter> meter;         // over all attempts of the job
    std::string run_id;
    std::unique_ptr<EarlierJobs> earlier;  // with --resume, if a run has begun in run.dir; else null
    std::vector<std::string> notes;        // warnings: idle trainers, uneven shards, large batches
    std::string known_trials;              // those of search.start_from, for people

    TrialConfig config_of(Assignment const& assignment) const;  // of a trial that has been checked
    std::vector<TrialView> const& trials() const;               // of the director
    int holders() const { return std::max(1, trainers / experiment.strategy.group_size); }  // of states: trainers, or groups
    int shard_files() const { return static_cast<int>(manifest.train.size()); }
    OwnerTable owners_of_files() const;  // the trainers that train on each of these
};

// Shards are dealt out equally where the strategy has no choice, to groups of trainers, and where rank 0 dispatches: its
// matchmakers know one holder of a shard.
OwnersBy owners_by(PreparedRun const& prepared);

// FLOPs of one unit of a trial, on each trainer that trains it. shards: files.
double unit_cost_of(TrialConfig const& config, DataSchema const& schema, int shards);

// Throws ConfigError with all problems of the experiment, the dataset and the run directory at once. trainers_of: the number
// of trainers of the job; may throw ConfigError. groups_of: what strategy.group_size "auto" becomes in a new run; it gets
// the run prepared without groups. Without groups_of there are none.
struct ChosenGroups {
    int size = 1;
    std::string why;
};
PreparedRun prepare_run(RunOptions const& options, std::function<int(RunConfig const&)> const& trainers_of,
                        std::function<ChosenGroups(PreparedRun const&)> const& groups_of = {});

// Throws CommError that names a file of the model that was replaced since the job began.
void require_same_files(PreparedRun const& prepared);

// A file of this model that the run did not begin with; empty: there is none. An order must not bring one: whoever may write
// orders would decide which code the job executes.
std::string new_file_of(PreparedRun const& prepared, ModelConfig const& model);

// The same job after a loss: reads the rest of the work from the run directory. The owners stay as they are now.
void prepare_to_go_on(PreparedRun& prepared);

// For trainers that are threads of one process: throws ConfigError if several of them would train a model that draws from
// torch's own random generator.
void check_threads(PreparedRun const& prepared);

}  // namespace hopscotch
