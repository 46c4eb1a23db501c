// SPDX-License-Identifier: Apache-2.0
// Asks every rank of a job for its facts: rank 0 asks one thing at a time, the others answer.
#pragma once
#include <filesystem>

#include "cli/doctor/findings.hpp"

namespace hopscotch {

class World;

// Rank 0. The others run be_examined() meanwhile. Leaves nothing in the folder. Throws ConfigError if the folder does not
// exist or cannot be written, CommError if a rank is silent.
Checkup examine(World& world, std::filesystem::path const& folder);

// The other ranks. Returns when rank 0 lets them go.
void be_examined(World& world);

}  // namespace hopscotch
