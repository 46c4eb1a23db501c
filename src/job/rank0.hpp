// SPDX-License-Identifier: Apache-2.0
// Rank 0 of a job: roll call, then one attempt after another (attempt.hpp) until every trial has ended, then the results.
#pragma once
#include "view/live_pages.hpp"

namespace hopscotch {

class World;
struct PreparedRun;
struct RunOptions;

// Returns the exit code: 0 finished; 1 no trial finished an epoch; 2 the trainers found bad input; 75 interrupted by a
// signal. Throws Error if the job cannot continue (a lost rank, a stall, a full disk); all finished work is in the run
// directory. make_pages: called once, when the run directory is there.
int run_job(World& world, PreparedRun prepared, RunOptions const& options, double started_s,
            MakeLivePages const& make_pages);

}  // namespace hopscotch
