// SPDX-License-Identifier: Apache-2.0
// The signals of a job. On rank 0, SIGUSR1 (mpirun passes it on unchanged, Slurm sends it early), SIGTERM and SIGINT ask for
// an orderly end. A second SIGINT ends the process at once, and loses no more than a crash. Trainers ignore signals: rank 0
// gets the same signal, and tells them.
// A signal may arrive before the rank is known: while hopscotch becomes hopscotch-train, LibTorch is loaded or MPI starts.
//   hopscotch        hold_signals()                     exec keeps the mask, and the signal that waits
//   hopscotch-train  catch_signals()                    now the signal arrives; Attempt::run() finds it
#pragma once

namespace hopscotch {

// True if the command line trains: run, resume. The signals of other commands end them.
bool trains(int argc, char** argv);

void hold_signals();    // they wait until catch_signals()
void catch_signals();   // until the rank is known, and from then on rank 0
void ignore_signals();  // trainers
int signal_caught();    // the first one; 0: none

}  // namespace hopscotch
