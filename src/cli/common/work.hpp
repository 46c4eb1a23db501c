// SPDX-License-Identifier: Apache-2.0
// A sub-command: its options on the command line, and its work.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace hopscotch {

// The work of a sub-command, after its options have been parsed. Returns the exit code (0 done, 1 failed). Throws
// ConfigError for bad input and other Errors for failures; run_cli() turns both into exit codes.
using Work = std::function<int()>;

struct SubCommand {
    std::string name, summary;
    std::function<Work(CLI::App& command)> add;  // adds the options to `command`, which outlives the work
};

// Adds these sub-commands, of which the user must give one. Does the work of the given one.
Work add_sub_commands(CLI::App& parent, std::vector<SubCommand> const& rows);

// Before MPI_Init, only the environment tells the rank. Without a launcher the process is the first rank.
bool is_first_rank();

// The other ranks of an mpirun do nothing and return 0: mpirun kills all ranks when one of them returns something else.
Work on_first_rank(Work work);

}  // namespace hopscotch
