// SPDX-License-Identifier: Apache-2.0
#include "job/idle_gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "model/gpu/device.hpp"

namespace hopscotch {

std::string idle_gpus(std::string const& device) {
    constexpr std::array<std::string_view, 3> k_none{"", "-1", "NoDevFiles"};
    if (device != "auto" || !device_info("cpu").versions.empty()) return "";
    for (auto const* name : {"CUDA_VISIBLE_DEVICES", "SLURM_JOB_GPUS", "SLURM_GPUS"}) {
        auto const* gpus = std::getenv(name);
        if (gpus == nullptr || std::ranges::find(k_none, gpus) != k_none.end()) continue;
        return fmt::format(
            "training uses the CPU although the job holds GPUs ({} is {}, but this is a CPU build); build with the preset "
            "gpu, or set run.device to \"cpu\"",
            name, gpus);
    }
    return "";
}

}  // namespace hopscotch
