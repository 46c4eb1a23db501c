// SPDX-License-Identifier: Apache-2.0
// Which trainer computes on which GPU: the table at the start of a job, and what of it a user would rather know.
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

// GPUs that several trainers share, different ones in one job, some trainers without one, or none although a CUDA build was
// asked to take what is there. wanted: run.device.
std::vector<std::string> device_advice(std::map<Rank, HostDevice> const& trainers, std::string_view wanted);

// For pools of states that are copied to this device: each rank locks pages for its own.
Pinning pinning_for(std::string const& device);

// Those of the first GPU that several trainers share; empty: each has its own, or none.
std::vector<int> ranks_of_a_shared_gpu(std::map<Rank, HostDevice> const& trainers);

}  // namespace hopscotch
