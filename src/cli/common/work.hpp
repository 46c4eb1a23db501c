// SPDX-License-Identifier: Apache-2.0
// The work of a sub-command, and which rank does it.
#pragma once
#include <functional>

namespace hopscotch {

// The work of a sub-command, after its options have been parsed. Returns the exit code (0 done, 1 failed). Throws
// ConfigError for bad input and other Errors for failures; run_cli() turns both into exit codes.
using Work = std::function<int()>;

// Before MPI_Init, only the environment tells the rank. Without a launcher the process is the first rank.
bool is_first_rank();

// The other ranks of an mpirun do nothing and return 0: mpirun kills all ranks when one of them returns something else.
Work on_first_rank(Work work);

}  // namespace hopscotch
