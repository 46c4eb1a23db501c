// SPDX-License-Identifier: Apache-2.0
// Synchronous data parallelism (Horovod, DistributedDataParallel): every trainer holds the whole state and computes the
// gradient of its part of a batch; the parts are all-reduced in buckets while the backward pass still runs, and all trainers
// make the same update. A step of three trainers:
//   all: forward, backward, bucket by bucket sent as it becomes final     all: wait for the last bucket, clip, update
#pragma once
#include <memory>

namespace hopscotch {

class Worker;
struct WorkerResources;

std::unique_ptr<Worker> make_allreduce_worker(WorkerResources const& resources);

}  // namespace hopscotch
