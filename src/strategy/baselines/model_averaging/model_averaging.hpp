// SPDX-License-Identifier: Apache-2.0
// Model averaging (SparkNet, local SGD, DiLoCo): every trainer trains `every` steps on its own shards with its own
// optimizer, then all go on from the mean of their parameters, weighted by the rows of the round. A round of three trainers,
// every = 2:
//   all: step, step     all: parameters become their mean (an all-reduce, or via the first trainer)     next round
// All trainers make the same number of rounds. A trainer without rows in a step skips the step; a trainer without rows in a
// round has weight 0 in the mean. An epoch ends with a mean. The optimizer's slots at a mean: local (each trainer keeps its
// own, SparkNet), averaged, reset (zeros). With `local` the slots differ between trainers: only parameters are compared at
// the end of a lap, and the first trainer's state is hashed, validated and kept. The weights of train.ema are always
// averaged too. Outer optimizer (DiLoCo): the parameters before the round minus their mean are the gradient of an SGD step
// from there. Its velocity is part of the state. One trainer alone has nothing to average: without an outer optimizer its
// bits are those of `sequential`, slots included.
#pragma once
#include <memory>
#include <span>

namespace hopscotch {

class Worker;
struct OuterOptimizer;
struct WorkerResources;

std::unique_ptr<Worker> make_model_averaging_worker(WorkerResources const& resources);

// torch.optim.SGD with the gradient anchor - mean. parameters: the mean on entry; the start of the next round on return.
// velocity: empty without momentum.
struct OuterStep {
    std::span<float const> anchor;
    std::span<float> parameters, velocity;
};
void take_outer_step(OuterOptimizer const& outer, OuterStep const& step);

}  // namespace hopscotch
