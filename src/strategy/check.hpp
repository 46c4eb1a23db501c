// SPDX-License-Identifier: Apache-2.0
// What a strategy cannot do with a trial, found before anything is trained.
#pragma once
#include "core/json_reader.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

// trainers: of the whole job, servers included. Complaints to problems, under the path of the setting.
void check_strategy(Experiment const& experiment, TrialConfig const& config, int trainers, int shards, Problems& problems);

}  // namespace hopscotch
