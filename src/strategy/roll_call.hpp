// SPDX-License-Identifier: Apache-2.0
// How a job starts and ends. Rank 0: Welcome to all, a Hello from each within a deadline; at the end Shutdown to all, a
// Goodbye from each. Trainers: wait for Welcome, open and read their shards, say Hello, serve the strategy, say Goodbye.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "comm/courier.hpp"
#include "strategy/common/messages.hpp"
#include "strategy/common/pump.hpp"
#include "strategy/common/strategy.hpp"
#include "strategy/common/trial_runner.hpp"

namespace hopscotch {

struct BuildInfo {
    std::string version, git, torch;
};

// Rank 0. The answers of all living trainers. Throws CommError that lists the ranks that did not answer, ConfigError with
// what the trainers found wrong (each complaint once), builds or datasets that differ; TrainerLost. Warnings (different
// CPUs) go to the log.
std::map<Rank, Hello> call_roll(Courier& courier, Welcome const& welcome, BuildInfo const& build, RunConfig const& run);

struct JobTotals {
    std::vector<std::uint64_t> bytes = std::vector<std::uint64_t>(4);  // by Traffic, of all ranks
    std::vector<std::uint64_t> peak_rss_bytes;                         // by rank
    std::vector<double> hop_s;
    std::vector<std::vector<std::uint64_t>> bytes_by_rank;  // by Traffic; rank 0 first
    std::uint64_t storage_bytes = 0, staged_bytes = 0;      // of training rows: all trainers', and copies among them
    std::uint64_t spilled_bytes = 0;                        // of waiting states
};

// Rank 0. All trainers stop working and say goodbye. Until the farewell they stay, and both sides watch each other.
// Throws CommError after deadline_s.
JobTotals end_job(Courier& courier, int exit_code, double deadline_s);

// Rank 0's last word, when everything is written: all end now, and the courier is closed. All living ranks know who was
// lost on the way, so that none waits for a dead one in MPI_Finalize.
void say_farewell(Courier& courier);

// Rank 0. Nothing goes to or comes from that rank any more, and the others know.
void bury_and_tell(Courier& courier, Lost const& lost);

// Ranks 1..: the whole life of a trainer. Throws nothing: what goes wrong is told to rank 0, which ends the job.
// factory, gpu: tests inject a model that misbehaves, a GPU that is none. No name in gpu.info: the device is asked.
void trainer_main(World& world, BuildInfo const& build, ModelFactory const& factory = make_trial_model,
                  TrainerGpu const& gpu = {});

}  // namespace hopscotch
