// SPDX-License-Identifier: Apache-2.0
// Runs a command and waits for its end. A process with MPI and threads must not fork by itself: posix_spawn copies nothing.
#pragma once
#include <functional>
#include <string>
#include <vector>

namespace hopscotch {

struct ChildCommand {
    std::vector<std::string> words;        // the program, looked up in PATH, and its arguments; no shell
    std::vector<std::string> environment;  // "NAME=value", all of it
    double limit_s;                        // then it is killed, with all processes that it has started in its group
    std::string output = {};               // file to make for its standard output and error; empty: this process's
};

// Local. The child has its own process group, no standard input, no other open file than output and error, and the default
// actions of signals. Returns an empty text if it exits with 0, else what went wrong: "exit code 3". Kills the child early
// when give_up() says so.
std::string run_child(ChildCommand const& command, std::function<bool()> const& give_up);

}  // namespace hopscotch
