// SPDX-License-Identifier: Apache-2.0
// Model hopper parallelism (Cerebro, VLDB 2020) with the `planned` policy: a ring pipeline without barriers.
//   rank 0 -> home of trial 7: Lap(7, epoch 0)          rank 0's only message about that lap (make_home_dispatcher)
//   home: builds the state, trains shard 3, pushes the state to the owner of shard 4 while the next queued unit computes
//   ... 4, 5, ..., S-1, 0, 1, 2 ... back home: validates, LapDone to rank 0, starts the trial's next lap in its queue
#pragma once
#include <memory>

namespace hopscotch {

class Worker;
struct WorkerResources;

std::unique_ptr<Worker> make_mop_worker(WorkerResources const& resources);

}  // namespace hopscotch
