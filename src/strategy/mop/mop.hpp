// SPDX-License-Identifier: Apache-2.0
// Model hopper parallelism (Cerebro, VLDB 2020). With the policy `planned` a ring pipeline without barriers; with others the
// trainers ask rank 0 before each unit (match_dispatcher.hpp).
//   rank 0 -> home of trial 7: Lap(7, epoch 0)          planned: rank 0's only message about that lap
//   home: builds the state, trains shard 3, pushes the state to the owner of shard 4 while the next queued unit computes
//   ... 4, 5, ..., S-1, 0, 1, 2 ... back home: validates, LapDone to rank 0, starts the trial's next lap in its queue
#pragma once
#include <memory>

namespace hopscotch {

class Worker;
struct WorkerResources;

std::unique_ptr<Worker> make_mop_worker(WorkerResources const& resources);

}  // namespace hopscotch
