// SPDX-License-Identifier: Apache-2.0
// The command line. Two programs share it: `hopscotch` has the sub-commands that need neither MPI nor a model. For the
// others its process becomes `hopscotch-train`.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "cli/common/work.hpp"

namespace hopscotch {

class Command;

struct Program {
    std::map<std::string, std::function<Work(Command)>> commands;  // by name: adds the options, as SubCommand::add
    std::function<std::string()> version;                          // the text of --version; empty: the other program's
    Work other_program;  // for commands that this program does not have; may be empty
};

// Parses the command line, runs the sub-command and returns the process's exit code. Catches everything. Under mpirun, only
// rank 0 reports bad input.
int run_cli(int argc, char** argv, Program const& program);

}  // namespace hopscotch
