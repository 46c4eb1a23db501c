// SPDX-License-Identifier: Apache-2.0
// The things that a strategy works with on a trainer.
#pragma once
#include "strategy/common/checkpoint_target.hpp"
#include "strategy/common/resources.hpp"

namespace hopscotch {

class GpuWatch;
class TrialRunner;
struct TrainerGpu;

struct WorkerResources : Resources {
    TrialRunner& runner;
    TrainerGpu const& gpu;
    GpuWatch const& gpu_watch;
    CheckpointTarget checkpoints = {};  // without a run_dir no checkpoint is written
};

}  // namespace hopscotch
