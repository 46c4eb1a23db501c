// SPDX-License-Identifier: Apache-2.0
// Data parallelism by parameter servers (Li et al. 2014; BytePS): parameters and optimizer live on servers, cut into parts.
// Workers push gradients part by part while the backward pass runs and get the parameters back. A step of three workers:
//   all: forward; backward, part p done -> its server     server of p: sum in rank order, update -> all     all: next step
// sync is a step of all (bits of allreduce `deterministic`); ssp lets workers run ahead; backup drops the last gradients of
// a step; async makes every gradient an update of its own. Bytes: gradients and parameters count as gradient traffic, slots
// on their way to the first worker at the end of a lap as state traffic.
#pragma once
#include <memory>

namespace hopscotch {

class Worker;
struct WorkerResources;

std::unique_ptr<Worker> make_parameter_server_worker(WorkerResources const& resources);

}  // namespace hopscotch
