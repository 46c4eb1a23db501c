// SPDX-License-Identifier: Apache-2.0
// The options of `hopscotch run` and `hopscotch resume`.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace hopscotch {

enum class RunDirUse;

struct RunOptions {
    std::string experiment;               // the file
    std::string run_dir;                  // resume: a run that goes on with the experiment that it keeps; else empty
    bool allow_code = false;              // resume: the code that this run directory names
    std::vector<std::string> overrides;   // --set path=value
    std::optional<std::string> strategy;  // none: as the file says
    std::vector<std::string> inject;      // --inject: instead of run.inject
    std::optional<int> trainers;          // threads; under mpirun it must be np - 1
    std::optional<int> processes;         // dry run: as under a launcher with this number of processes
    bool resume = false, overwrite = false, dry_run = false, quiet = false;
};
RunDirUse run_dir_use(RunOptions const& options);

}  // namespace hopscotch
