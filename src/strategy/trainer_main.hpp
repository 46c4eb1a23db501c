// SPDX-License-Identifier: Apache-2.0
// A trainer from the start to the end of a job: it waits for Welcome, opens its shards, sends Hello, serves the strategy,
// and sends Goodbye.
#pragma once
#include "strategy/common/trainer_gpu.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {

class World;
struct BuildInfo;

// Ranks 1..: the whole life of a trainer. Throws nothing: errors go to rank 0, which ends the job. factory, gpu: tests
// inject a model that misbehaves and a fake GPU. If gpu.info has no name, the information comes from the device.
void trainer_main(World& world, BuildInfo const& build, ModelFactory const& factory = make_trial_model,
                  TrainerGpu const& gpu = {});

}  // namespace hopscotch
