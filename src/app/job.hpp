// SPDX-License-Identifier: Apache-2.0
// Rank 0's part of a run: roll call, then laps out and records in until every trial has ended, then the results.
#pragma once
#include "app/commands.hpp"
#include "app/prepared_run.hpp"
#include "comm/world.hpp"

namespace hopscotch {

// Returns the exit code: 0 finished, 1 no trial came to anything, 2 if the trainers found bad input, 75 interrupted by a
// signal. Throws Error when the job cannot go on (a rank lost, a stall, a full disk); whatever was finished until then is in
// the run directory.
int run_job(World& world, PreparedRun prepared, RunOptions const& options, double started_s);

}  // namespace hopscotch
