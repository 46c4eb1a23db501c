// SPDX-License-Identifier: Apache-2.0
// Task parallelism (Celery, Ray Tune, Maggy): each trainer trains whole trials by itself, and the data comes to it.
//   rank 0 -> trainer 2: the laps of trial 7           as soon as trainer 2 is free and 7 is the longest that waits
//   trainer 2 -> owners: the shards that it lacks      before its first lap (replicated); or each batch's rows (remote)
//   trainer 2: all units of the lap in the order of trial 7, validation, LapDone; the state stays with trainer 2
// A trial's bits are those of `sequential` and `mop`: the order of shards and rows is the same, wherever the rows are.
#pragma once
#include <memory>

namespace hopscotch {

class Dispatcher;
class Worker;
struct Resources;
struct WorkerResources;

std::unique_ptr<Dispatcher> make_task_dispatcher(Resources resources);
std::unique_ptr<Worker> make_task_worker(WorkerResources const& resources);

}  // namespace hopscotch
