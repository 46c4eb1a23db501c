// SPDX-License-Identifier: Apache-2.0
// The processes of a job, from its launcher's environment. If the launcher and the MPI library do not understand each other,
// each process believes that it is alone; without a check, each would train the whole experiment.
//   srun --mpi=none -n 3 hopscotch run e.json    three times SLURM_STEP_NUM_TASKS=3, and MPI joins one process
#pragma once
#include <string>

namespace hopscotch {

struct Launch {
    int started = 0;       // processes; 0: no launcher
    int number = 0;        // of this process
    std::string variable;  // that has this number; empty: no launcher
    bool by_srun = false;
};

// Reads the environment. A batch script and a step of one task count as one process.
Launch launch_by_environment();

// "problem (why); cure"; empty if MPI joins all processes.
std::string launch_problem(int started, int joined);

// Before anything is written, where MPI joins `joined` processes. False: go on. True: the first copy reports the problem,
// and this one ends silently. Throws ConfigError on the first copy.
bool is_surplus_copy(int joined);

}  // namespace hopscotch
