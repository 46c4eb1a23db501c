// SPDX-License-Identifier: Apache-2.0
// Task parallelism (Celery, Ray Tune, Maggy): each trainer trains whole trials by itself, and the data comes to it.
//   rank 0 -> trainer 2: the laps of trial 7           as soon as trainer 2 is free and 7 is the longest that waits
//   trainer 2 -> owners: the shards that it has not    before its first lap (replicated); or each batch's rows (remote)
//   trainer 2: all units of the lap in the order of trial 7, validation, LapDone; the state stays with it
// A trial's bits are those of `sequential` and `mop`: the order of shards and rows is the same, wherever they come from.
#pragma once
#include <memory>

#include "strategy/common/strategy.hpp"

namespace hopscotch {

std::unique_ptr<Strategy> make_task_parallel(Resources resources);

}  // namespace hopscotch
