// SPDX-License-Identifier: Apache-2.0
// Where the launcher has put the trainers: cores that several of them must share, or too few for their threads.
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
    std::vector<std::int32_t> own_cores;  // that the process is allowed to run on
};

std::vector<std::int32_t> allowed_cores();
std::int32_t online_cores();
std::string cpu_model();
std::uint64_t memory_bytes();  // of the host

// What the user should write instead, a line each; none if every trainer has `threads` cores to itself, or nobody is bound
// and the host has enough for all.
std::vector<std::string> seating_advice(std::map<Rank, Seating> const& trainers, int threads);

}  // namespace hopscotch
