// SPDX-License-Identifier: Apache-2.0
// The versions of this build.
#pragma once
#include <string>

#include "strategy/build_info.hpp"

namespace hopscotch {

BuildInfo const& build_info();
std::string version_text();  // of --version: hopscotch, git, LibTorch, MPI, CPU or CUDA

}  // namespace hopscotch
