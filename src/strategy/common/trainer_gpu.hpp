// SPDX-License-Identifier: Apache-2.0
// The GPU of a trainer (the trainers of a group exchange it), its NCCL calls, its meter, and its complaint if it is broken.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/nccl_calls.hpp"
#include "model/gpu/device.hpp"
#include "model/gpu/gpu_meter.hpp"

namespace hopscotch {

struct TrainerGpu {
    DeviceInfo info;
    std::function<std::shared_ptr<NcclCalls>(std::string const& device)> nccl = make_nccl;
    std::function<std::unique_ptr<GpuMeter>(DeviceInfo const& info)> meter = make_gpu_meter;
    std::function<std::optional<DeviceComplaint>(std::string const& device)> complaint = device_complaint;
};

}  // namespace hopscotch
