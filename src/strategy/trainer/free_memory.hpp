// SPDX-License-Identifier: Apache-2.0
// The memory that this process can still get: of the host, or of its control groups (cgroups) if one of them allows less.
// Slurm and container runtimes set a job's limit on a group of their own, below the root of the tree of groups.
#pragma once
#include <cstdint>
#include <filesystem>

namespace hopscotch {

// root: where /proc and the mounts of cgroups are found; tests have trees of their own. Of each control group from this
// process's own up to the root of the mount, the limit less the memory in use counts, and the least is the answer (cgroup
// v2: memory.max, memory.high; v1: memory.limit_in_bytes).
std::uint64_t free_memory_bytes(std::filesystem::path const& root = "/");

// Of waiting states, the limit of a trainer: run.state_memory, or its part of a third of the free memory, because states
// that train, travel or come back need memory too.
std::uint64_t state_memory(std::uint64_t configured, int trainers_on_host);

}  // namespace hopscotch
