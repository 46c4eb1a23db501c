// SPDX-License-Identifier: Apache-2.0
// What signals mean to a job. Rank 0: SIGUSR1 (mpirun passes it on unchanged, Slurm sends it early), SIGTERM and SIGINT ask
// for an orderly end; a second SIGINT ends this process at once, which loses no more than a crash would. Trainers go on
// until rank 0, which heard the signal too, tells them.
#pragma once

namespace hopscotch {

void catch_signals();   // rank 0
void ignore_signals();  // trainers
int signal_caught();    // the first one; 0: none

}  // namespace hopscotch
