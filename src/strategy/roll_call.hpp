// SPDX-License-Identifier: Apache-2.0
// The start and the end of a job, on rank 0 (trainer_main.hpp has the other side). Rank 0 sends Welcome to all and awaits a
// Hello from each; at the end it sends Shutdown to all and awaits a Goodbye from each.
#pragma once
#include <cstdint>
#include <map>
#include <variant>
#include <vector>

#include "core/histogram.hpp"
#include "core/ids.hpp"
#include "strategy/common/setback.hpp"

namespace hopscotch {

class Courier;
class World;
struct BuildInfo;
struct Hello;
struct Lost;
struct RunConfig;
struct Welcome;

// Rank 0. The answers of all living trainers. Throws CommError that lists the ranks without an answer after run.setup_s, or
// names a rank without a heartbeat for run.silence_s; ConfigError with the trainers' complaints (each once), or if builds or
// datasets differ. Warnings (different CPUs) go to the log.
using RollCall = std::variant<std::map<Rank, Hello>, Setback>;
RollCall call_roll(Courier& courier, Welcome const& welcome, BuildInfo const& build, RunConfig const& run);

// Throws ConfigError if the trainers are threads and would use several GPUs (against_threads); before anything is trained.
// Apart from call_roll(), because tests with made-up GPUs let threads stand for processes.
void refuse_several_gpus(World const& world, std::map<Rank, Hello> const& hellos);

struct JobTotals {
    std::vector<std::uint64_t> bytes = std::vector<std::uint64_t>(4);  // by Traffic, of all ranks
    std::vector<std::uint64_t> peak_rss_bytes;                         // by rank
    Histogram hop_s;
    std::vector<std::vector<std::uint64_t>> bytes_by_rank;  // by Traffic; rank 0 first
    std::uint64_t storage_bytes = 0, staged_bytes = 0;      // of training rows, on all trainers; staged: copies
    std::uint64_t spilled_bytes = 0;                        // of waiting states
};

// Rank 0. All trainers stop working and send Goodbye. They stay until the farewell; both sides watch each other.
// Throws CommError after deadline_s.
JobTotals end_job(Courier& courier, int exit_code, double deadline_s);

// Rank 0's last message, when everything is written: all ranks end now, and the courier is closed. All living ranks know the
// lost ranks, so that none waits for a dead rank in MPI_Finalize.
void say_farewell(Courier& courier);

// Rank 0. From now on no message goes to that rank or comes from it; the other ranks are told.
void bury_and_tell(Courier& courier, Lost const& lost);

}  // namespace hopscotch
