// SPDX-License-Identifier: Apache-2.0
#include "job/build_info.hpp"

#include <fmt/format.h>

#include "comm/mpi_world.hpp"
#include "comm/nccl_calls.hpp"
#include "job/version.hpp"
#include "model/gpu/device.hpp"

namespace hopscotch {

BuildInfo const& build_info() {
    static BuildInfo const info{k_version, k_git, k_torch};
    return info;
}

std::string version_text() {
    auto out = fmt::format("hopscotch {} ({})\nLibTorch {}, {}, {} build", k_version, k_git, k_torch, mpi_version(),
                           k_device_build);
    if (auto const libraries = device_info("cpu").versions; !libraries.empty())
        out += fmt::format("\n{}, {}", libraries, nccl_version());
    return out;
}

}  // namespace hopscotch
