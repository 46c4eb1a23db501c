// SPDX-License-Identifier: Apache-2.0
// The knowledge of rank 0 about a run before and while it trains, in four parts: its inputs, its plan, its trainers, and its
// texts for people. prepare.hpp makes it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
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
struct TrialView;

// Read and checked before anything is planned. When a job goes on after a loss, it reads `earlier` again, and sets what
// follows from it.
struct RunInputs {
    RunInputs();
    RunInputs(RunInputs&&) noexcept;
    RunInputs& operator=(RunInputs&&) noexcept;
    ~RunInputs();

    Experiment experiment;
    Manifest manifest;
    DataSchema schema;
    std::map<std::string, std::uint64_t> files;  // model_files(): xxh64 of each
    SearchContext context;                       // input of the search besides the experiment
    std::unique_ptr<EarlierJobs> earlier;        // with --resume, if a run has begun in run.dir; else null
    std::string run_id;
    bool synthetic = false;  // ZooEntry::synthetic of the model
};

struct RunPlan {
    // As the schedule sees them: with strategy.group_size > 1, bundles of shards, which groups of trainers own.
    int shards = 0;
    SearchPlan search;                       // trials and epochs of the search
    bool decides = false;                    // the search decides during training: trials come and go
    std::int64_t in_flight = 0, admits = 0;  // trials at a time; in_flight: at most the number of trials
    RoutePlan routes;
    std::uint64_t state_bytes = 0, weight_bytes = 0;  // of the largest trial, and of its parameters; 0: not measured yet
};

// The trainers, and what they hold. Changes when trainers are lost, and when shards move.
struct Fleet {
    int trainers = 0;  // at the start
    OwnerTable owners;
    bool equal_owners = false;  // not all trainers can open the shards that other owners would get
    // Once a job has started.
    std::vector<std::string> hosts;  // by trainer
    bool on_gpu = false;             // some trainer is
    std::string collectives;         // allreduce, model_averaging: "mpi" or "nccl"
};

struct RunNotes {
    std::vector<std::string> warnings;  // idle trainers, uneven shards, large batches
    std::string known_trials;           // those of search.start_from
    std::string other_bits;             // of a run with more trials: why a new run of all of them would have other bits
    std::string routes_and_number;      // why these routes, and this number in flight
};

struct PreparedRun {
    PreparedRun();
    PreparedRun(PreparedRun&&) noexcept;
    PreparedRun& operator=(PreparedRun&&) noexcept;
    ~PreparedRun();

    RunInputs inputs;
    RunPlan plan;
    Fleet fleet;
    RunNotes notes;
    std::unique_ptr<Director> director;

    std::vector<TrialView> const& trials() const;  // of the director
    int holders() const;                           // of states: trainers, or groups
    int shard_files() const { return static_cast<int>(inputs.manifest.train.size()); }
    OwnerTable owners_of_files() const;  // the trainers that train on each of these
};

// Shards are dealt out equally where the strategy has no choice, to groups of trainers, and where rank 0 dispatches: its
// matchmakers know one holder of a shard.
OwnersBy owners_by(PreparedRun const& prepared);

}  // namespace hopscotch
