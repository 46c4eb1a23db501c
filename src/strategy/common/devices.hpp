// SPDX-License-Identifier: Apache-2.0
// The GPUs of the trainers: the table at the start of a job, and warnings about it.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "comm/buffer_pool.hpp"
#include "core/ids.hpp"
#include "model/gpu/device.hpp"

namespace hopscotch {

struct HostDevice {
    std::string host;
    DeviceInfo device;
};

// A line a trainer under a heading; none if all compute on CPUs.
std::vector<std::string> device_table(std::map<Rank, HostDevice> const& trainers);

// A line for each of these: several trainers share a GPU; the GPUs of the job differ; some trainers have no GPU; no trainer
// has a GPU although this CUDA build could use one. GPUs differ by their model, or, as slices of MIG or under MPS, by their
// number of multiprocessors, by which libraries choose algorithms. wanted: run.device.
std::vector<std::string> device_advice(std::map<Rank, HostDevice> const& trainers, std::string_view wanted);

// Of trainers that are threads of one process: the reason why they cannot train on these devices, and the cure. Empty: they
// can. Some calls of CUDA wait for all GPUs of their process, and a thread in NCCL's kernel waits for the others
// (NVIDIA/nccl#744), so both would wait for ever. So a process uses one GPU.
std::string against_threads(std::map<Rank, HostDevice> const& trainers);

// For the pool of a rank whose states are copied to this device: locked pages make copies fast.
Pinning pinning_for(std::string const& device);

// The ranks of the first GPU that several trainers share; empty: no GPU is shared.
std::vector<int> ranks_of_a_shared_gpu(std::map<Rank, HostDevice> const& trainers);

}  // namespace hopscotch
