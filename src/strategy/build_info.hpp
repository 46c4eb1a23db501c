// SPDX-License-Identifier: Apache-2.0
// The versions of a build. All ranks of a job must have the same.
#pragma once
#include <string>

namespace hopscotch {

struct BuildInfo {
    std::string version, git, torch;
};

}  // namespace hopscotch
