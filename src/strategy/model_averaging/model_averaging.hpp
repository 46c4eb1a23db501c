// SPDX-License-Identifier: Apache-2.0
// Model averaging (SparkNet, local SGD, DiLoCo): every trainer trains `every` steps on its own shards with its own
// optimizer, then all go on from the mean of their parameters, weighted by the rows of the round. A round of three trainers,
// every = 2:
//   all: step, step     all: parameters become their mean (an all-reduce, or via the first trainer)     next round
// Everyone makes the same number of rounds; who has no rows in a step does nothing in it, who has none in a round counts
// nothing in its mean. An epoch ends with a mean. The optimizer's slots at a mean: local (each keeps its own, SparkNet),
// averaged, reset (zeros). With `local` they differ between trainers, so only parameters are compared at the end of a lap,
// and what is hashed, validated and kept is the first trainer's state. The averaged weights of train.ema are always averaged
// too. Outer optimizer (DiLoCo): parameters before the round minus their mean is the gradient of an SGD step from there. Its
// velocity is part of the state, and lasts. One trainer alone has nothing to average: without an outer optimizer its bits
// are those of `sequential`, slots included.
#pragma once
#include <memory>
#include <span>

#include "strategy/common/strategy.hpp"

namespace hopscotch {

std::unique_ptr<Strategy> make_model_averaging(Resources resources);

// torch.optim.SGD with the gradient anchor - mean: parameters, the mean on entry, become what the next round starts from.
// velocity: empty without momentum.
struct OuterStep {
    std::span<float const> anchor;
    std::span<float> parameters, velocity;
};
void take_outer_step(OuterOptimizer const& outer, OuterStep const& step);

}  // namespace hopscotch
