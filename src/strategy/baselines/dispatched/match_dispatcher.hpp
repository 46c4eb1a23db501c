// SPDX-License-Identifier: Apache-2.0
// Rank 0's half of mop. With `planned`, rank 0 only sends the laps to their homes. With a dispatched policy rank 0 decides
// which trainer a waiting state visits next (schedule/matchmaker.hpp). Three ranks:
//   rank 0 -> trainer 0     Lap(trial 7, epoch 0)
//   trainer 0 -> rank 0     Turn waits: the lap, its visited shards, its cost
//   rank 0 -> trainer 0     Visit(trial 7, shard 1)              trainer 0 pushes the state to trainer 1, which trains
//   trainer 1 -> rank 0     Turn ended: rows and seconds         trainer 1 is free, and trial 7 waits there
//   rank 0 -> trainer 1     Visit(trial 7, shard 0) ...          after the last shard the state goes home, unasked
//   trainer 0 -> rank 0     Turn over                            trial 7 has been validated; LapDone went before
#pragma once
#include <memory>

#include "strategy/common/resources.hpp"

namespace hopscotch {

class Dispatcher;

std::unique_ptr<Dispatcher> make_mop_dispatcher(Resources resources);

}  // namespace hopscotch
