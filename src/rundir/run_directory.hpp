// SPDX-License-Identifier: Apache-2.0
// The run directory: one folder that holds all output of a run (docs/formats.md). Only rank 0 writes its text files. It
// belongs to exactly one run: an old one is refused, or cleared on request, never mixed with a new one.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/json.hpp"
#include "schedule/visit.hpp"

namespace hopscotch {

enum class RunDirUse { fresh, overwrite, resume };

// Whether a run has begun in the directory. Then --resume continues the run, else --resume starts one.
bool holds_run(std::filesystem::path const& path);

// "finished", "interrupted" or "failed", as summary.json says. Empty: a job may work on the run, or the file is damaged.
std::string status_of(std::filesystem::path const& run_dir);

// Throws ConfigError, and leaves nothing on the disk, when the directory cannot be used: it holds a run already (fresh),
// files that no run has written (overwrite never deletes those), or it cannot be created or written.
void check_run_dir(std::filesystem::path const& path, RunDirUse use);

struct BuildFacts {
    std::string version, git_hash;  // of hopscotch
    Json libraries;                 // versions: {"torch": "2.11.0", ...}
};

// What the run promises of its bits.
struct BitFacts {
    bool any_trainers = true;  // the strategy's bits do not depend on the number of trainers
    bool approximate = false;  // a GPU has trained with run.deterministic false, in this job or an earlier one: no bits to
                               // verify
    bool same_again = true;  // a lap that is trained again has the same bits; not where gradients are combined as they come
};

struct PlanFacts {
    std::int64_t in_flight = 0;  // the most that any job has admitted at a time; 0: not known (a run of an older version)
    RoutePlan routes = {};       // a run of an older version has the default
    std::vector<std::int64_t> extended = {};  // search.trials before each extension of the run
};

struct FleetFacts {
    std::vector<std::string> hosts;  // by trainer
    OwnerTable owners;
    std::string collectives;  // allreduce, model_averaging: how this job adds up gradients or weights, "mpi" or "nccl"
};

// The facts that are known when a run starts.
struct RunFacts {
    Json experiment;  // the resolved document
    std::string name;
    std::int64_t seed = 0;
    std::string dataset_hash;                    // hex
    std::map<std::string, std::uint64_t> files;  // model_files() of the experiment: xxh64 of each
    std::string strategy;
    std::string run_id;  // the same for all jobs of the run: checkpoints with another id are foreign
    BuildFacts build;
    BitFacts bits;
    PlanFacts plan;
    FleetFacts fleet;
    Json test;                // summary.json's, when the run last finished; null: it has not, or has no test shards
    double start_unix_s = 0;  // times in trace.json and metrics.jsonl count from here
    Json past;  // of search.start_from, for start_from.json; null: none, or --resume, which does not change the file

    int trainers() const { return fleet.owners.trainers; }
    int shards() const { return static_cast<int>(fleet.owners.owner.size()); }
};

Json to_json(RunFacts const& facts);

// Throws DataError that names the file. For replay and resume.
RunFacts read_run_facts(std::filesystem::path const& directory);

// Of a run that has finished and is never resumed. A file that cannot be removed stays.
void remove_checkpoints(std::filesystem::path const& run_dir);

class RunDirectory {
public:
    // Rank 0. Creates the directory (clears it for overwrite) and writes experiment.json. Checks again what
    // check_run_dir checked: another job may have come between. resume: journal.jsonl becomes a new file with the first
    // known_journal_bytes of the old (what the caller has read), so a job that still writes the old file changes nothing
    // here. Files that are rebuilt from the journal are removed, and checkpoints that are not finished.
    RunDirectory(std::filesystem::path path, RunDirUse use, RunFacts const& facts, std::uintmax_t known_journal_bytes = 0);

    std::filesystem::path const& path() const { return path_; }
    std::filesystem::path file(std::string_view name) const { return path_ / name; }  // "journal.jsonl"

private:
    std::filesystem::path path_;
};

}  // namespace hopscotch
