// SPDX-License-Identifier: Apache-2.0
// Files that an experiment names and the datasets do not hold: plug-ins, TorchScript files, initial weights.
#pragma once
#include <set>
#include <string>

#include "experiment/config.hpp"

namespace hopscotch {

// model.file and model.init_from, of the experiment itself and of every value that its space lists for them.
std::set<std::string> model_files(Experiment const& experiment);

}  // namespace hopscotch
