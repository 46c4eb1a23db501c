// SPDX-License-Identifier: Apache-2.0
// The options of `hopscotch run`.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "run/run_directory.hpp"

namespace hopscotch {

struct RunOptions {
    std::string experiment;               // the file
    std::vector<std::string> overrides;   // --set path=value
    std::optional<std::string> strategy;  // none: as the file says
    std::vector<std::string> inject;      // --inject: instead of run.inject
    std::optional<int> trainers;          // threads; under mpirun it must be np - 1
    bool resume = false, overwrite = false, dry_run = false, quiet = false;
};
inline RunDirUse run_dir_use(RunOptions const& options) {
    return options.resume ? RunDirUse::resume : options.overwrite ? RunDirUse::overwrite : RunDirUse::fresh;
}

}  // namespace hopscotch
