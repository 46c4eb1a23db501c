// SPDX-License-Identifier: Apache-2.0
// The sub-commands of `hopscotch bench`. Each has one file. They print one JSON document or table to standard output.
#pragma once
#include "cli/common/command.hpp"

namespace hopscotch {

Work add_bench_allreduce(Command command);  // on all ranks of an mpirun
Work add_bench_comm(Command command);       // on both ranks of an mpirun, or on two threads
Work add_bench_read(Command command);
Work add_bench_step(Command command);

}  // namespace hopscotch
