// SPDX-License-Identifier: Apache-2.0
// The observations of `hopscotch doctor` on a job's ranks, and its conclusions. PURE.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace hopscotch {

// Limits of a process; the largest number: none.
struct ProcessLimits {
    std::uint64_t open_files = 0, locked_bytes = 0, file_bytes = 0;
};

struct ClockFacts {
    double ahead_s = 0;       // against rank 0's
    double round_trip_s = 0;  // of a message of rank 0
};

struct RankFacts {
    std::int32_t rank = 0;
    std::string host, build, cpu;         // build: version and git hash; cpu: its kind
    std::int32_t cores = 0;               // online, of the host
    std::vector<std::int32_t> own_cores;  // the process may run on these
    std::uint64_t memory_bytes = 0;       // of the host
    std::uint64_t shared_bytes = 0;       // free in /dev/shm
    ProcessLimits limits;
    bool infiniband = false;     // the host has such a device
    std::string gpu;             // its model; empty: none
    std::string training_error;  // the reason why LibTorch cannot be loaded, or run.device "auto" fails; empty: none
    std::string folder_error;    // the reason why a run cannot write into the folder; empty: it can
    ClockFacts clock;
};

struct LinkFacts {
    std::string from, to;  // hosts
    double bytes_per_s = 0;
    bool infiniband = false;  // both hosts have it
};

struct Checkup {
    std::string folder;
    std::uint64_t folder_free_bytes = 0;
    int started = 0;              // processes that the launcher claims to have started; 0: no launcher
    bool srun_may_crash = false;  // several nodes, and the fences between them are not rings
    std::vector<RankFacts> ranks;
    std::vector<LinkFacts> links;
    std::vector<std::string> advice;  // of the roll call, on cores and GPUs
};

struct Finding {
    bool fatal = false;  // a run would fail
    std::string text;    // "problem (why); cure"
};

// Fatal ones first.
std::vector<Finding> findings_of(Checkup const& checkup);

std::string ranks_text(std::vector<std::int32_t> ranks);  // "0-3, 7"

}  // namespace hopscotch
