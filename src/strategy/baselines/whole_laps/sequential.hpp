// SPDX-License-Identifier: Apache-2.0
// One trainer that owns every shard trains one lap after another, in the order of their release. No hops and no queue: the
// plain reference for the bits of every other strategy.
#pragma once
#include <memory>

namespace hopscotch {

class Worker;
struct WorkerResources;

std::unique_ptr<Worker> make_sequential_worker(WorkerResources const& resources);

}  // namespace hopscotch
