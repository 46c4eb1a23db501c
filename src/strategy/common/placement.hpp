// SPDX-License-Identifier: Apache-2.0
// The cores that the launcher gave to the trainers, and warnings if trainers share cores or have too few for their threads.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/ids.hpp"

namespace hopscotch {

struct Seating {
    std::string host;
    std::int32_t host_cores = 0;          // online, of the whole host
    std::vector<std::int32_t> own_cores;  // the process may run on these
};

std::vector<std::int32_t> allowed_cores();
std::int32_t online_cores();
// Model, instructions, and variables that choose LibTorch's kernels: "AMD EPYC, AVX-512 with bf16, MKL_CBWR=AVX2". Bits and
// speed depend on nothing else of a CPU.
std::string cpu_kind();
std::uint64_t memory_bytes();    // of the host
std::uint64_t peak_rss_bytes();  // of this process

// Products a second of a small dense loop on this thread's core, in 3 ms: the best of some pieces, in the thread's own time,
// so that neighbours on the core do not count.
double core_speed();

// Better launcher options, a line each; none if every trainer has `threads` cores to itself, or if no trainer is bound and
// the host has enough cores for all.
std::vector<std::string> seating_advice(std::map<Rank, Seating> const& trainers, int threads);

}  // namespace hopscotch
