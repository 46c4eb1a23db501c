// SPDX-License-Identifier: Apache-2.0
// Model hopper parallelism (Cerebro, VLDB 2020) with the `planned` policy: a ring pipeline without barriers.
//   rank 0 -> home of trial 7: Lap(7, epoch 0)          the only thing rank 0 has to say about that lap
//   home: builds the state, trains shard 3, pushes the state to the owner of shard 4 while the next queued unit computes
//   ... 4, 5, ..., S-1, 0, 1, 2 ... back home: validates, LapDone to rank 0, starts the next lap it already holds
#pragma once
#include <memory>

#include "strategy/common/strategy.hpp"

namespace hopscotch {

std::unique_ptr<Strategy> make_mop(Resources resources);

}  // namespace hopscotch
