// SPDX-License-Identifier: Apache-2.0
// run.on_end: the command that rank 0 starts when the run has ended.
#pragma once

namespace hopscotch {

struct RunConfig;
struct Summary;

// Rank 0, Local. Waits for the end of the command, at most run.on_end_s. A command that fails is a warning in the log.
void run_on_end(RunConfig const& run, Summary const& summary);

}  // namespace hopscotch
