// SPDX-License-Identifier: Apache-2.0
// hopscotch bench: measures the speed of this machine.
#include "bench/benches.hpp"
#include "cli/common/commands.hpp"

namespace hopscotch {

Work add_bench(Command command) {
    command.add_retired("schedule",
                        "bench schedule is not available in this version (available: step, comm, allreduce, read)");
    return command.add_sub_commands(
        {{"step", "Rows/s of one trainer's training step, with gathering and normalising the rows", add_bench_step},
         {"comm", "Speed of hops between two ranks that compute, and their cost to the computation", add_bench_comm},
         {"allreduce", "Speed of the ring and the deterministic all-reduce, and of the MPI library's own",
          add_bench_allreduce},
         {"read", "Speed of each data.cache (all, window, none), and of memcpy and pread", add_bench_read}});
}

}  // namespace hopscotch
