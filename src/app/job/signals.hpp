// SPDX-License-Identifier: Apache-2.0
// The signals of a job. On rank 0, SIGUSR1 (mpirun passes it on unchanged, Slurm sends it early), SIGTERM and SIGINT ask for
// an orderly end. A second SIGINT ends the process at once, and loses no more than a crash. Trainers ignore signals: rank 0
// gets the same signal, and tells them.
#pragma once

namespace hopscotch {

void catch_signals();   // rank 0
void ignore_signals();  // trainers
int signal_caught();    // the first one; 0: none

}  // namespace hopscotch
