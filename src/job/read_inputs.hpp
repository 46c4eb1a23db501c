// SPDX-License-Identifier: Apache-2.0
// The inputs that the command line names: the experiment and its dataset.
#pragma once
#include "data/dataset/manifest.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

class Problems;
struct RunOptions;

// The file with --strategy, --set and --inject applied, and on --resume the strategy.group_size that "auto" once became.
// Throws ConfigError if the file cannot be read.
Experiment experiment_of(RunOptions const& options, Problems& problems);

void set_groups(Experiment& experiment, int group_size);  // also in the document

// A missing or foreign dataset is a problem at the place in the file that names the dataset. Then throws ConfigError.
Manifest manifest_of(Experiment const& experiment, Problems& problems);

}  // namespace hopscotch
