// SPDX-License-Identifier: Apache-2.0
// Settings that a strategy cannot train with, found before training starts.
#pragma once
#include "core/json_reader.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

// trainers: of the whole job, servers included. Adds complaints to problems, under the path of the setting.
void check_strategy(Experiment const& experiment, TrialConfig const& config, int trainers, int shards, Problems& problems);

}  // namespace hopscotch
