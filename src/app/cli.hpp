// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace hopscotch {

// Parses the command line, runs the sub-command and returns the process's exit code. Catches everything: only rank 0
// prints what was wrong with the input.
int run_cli(int argc, char** argv);

}  // namespace hopscotch
