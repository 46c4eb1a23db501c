// SPDX-License-Identifier: Apache-2.0
// The sub-commands of `hopscotch bench`.
#pragma once
#include "app/commands.hpp"

namespace CLI {
class App;
}

namespace hopscotch {

// What the command line said, to each benchmark its own. Must outlive the parsing.
struct BenchCommands {
    BenchStepOptions step;
    BenchCommOptions comm;
    BenchAllreduceOptions allreduce;
    BenchReadOptions read;
};

// Adds `bench` and its sub-commands. Parsing throws ConfigError for those that do not exist yet.
CLI::App* add_bench(CLI::App& app, BenchCommands& commands);

// Whether the benchmark that was parsed runs on all ranks of an mpirun.
bool is_mpi_bench(CLI::App const& bench);

// Runs the benchmark that was parsed and returns the exit code.
int run_bench(CLI::App const& bench, BenchCommands const& commands);

}  // namespace hopscotch
