// SPDX-License-Identifier: Apache-2.0
// hopscotch bench: measures the speed of this machine.
#include <CLI/CLI.hpp>

#include "bench/benches.hpp"
#include "cli/common/commands.hpp"
#include "core/error.hpp"

namespace hopscotch {

Work add_bench(CLI::App& command) {
    auto* schedule = command.add_subcommand("schedule", "")->group("")->allow_extras();
    schedule->set_help_flag();
    schedule->callback([] {
        throw ConfigError("bench schedule is not available in this version (available: step, comm, allreduce, read)");
    });
    return add_sub_commands(
        command,
        {{"step", "Rows/s of one trainer's training step, with gathering and normalising the rows", add_bench_step},
         {"comm", "Speed of hops between two ranks that compute, and their cost to the computation", add_bench_comm},
         {"allreduce", "Speed of the ring and the deterministic all-reduce, and of the MPI library's own",
          add_bench_allreduce},
         {"read", "Speed of each data.cache (all, window, none), and of memcpy and pread", add_bench_read}});
}

}  // namespace hopscotch
