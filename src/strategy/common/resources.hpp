// SPDX-License-Identifier: Apache-2.0
// The things that a strategy works with: on every rank of a job, and on a trainer.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "comm/courier.hpp"
#include "comm/nccl_calls.hpp"
#include "experiment/config.hpp"
#include "model/gpu/device.hpp"
#include "schedule/lap.hpp"
#include "schedule/visit.hpp"
#include "strategy/common/roll_call_messages.hpp"

namespace hopscotch {

class TrialRunner;

// The rank of a trainer: rank 0 schedules, ranks 1.. train.
inline Rank rank_of(TrainerId trainer) { return Rank(trainer.value + 1); }
inline TrainerId trainer_of(Rank rank) { return TrainerId(rank.value - 1); }

// Of rank 0 and of every trainer.
struct Resources {
    Courier& courier;
    Experiment const& experiment;
    OwnerTable owners;
};

// The GPU of a trainer, which the trainers of a group tell each other, and its NCCL calls.
struct TrainerGpu {
    DeviceInfo info;
    std::function<std::shared_ptr<NcclCalls>(std::string const& device)> nccl = make_nccl;
};

// Of a trainer.
struct WorkerResources : Resources {
    TrialRunner& runner;
    CheckpointTarget checkpoints = {};  // without a run_dir no checkpoint is written
    TrainerGpu gpu = {};
};

// The owner of the trial's first shard: the lap starts and ends there.
TrainerId home_of(Lap const& lap, Resources const& resources);

}  // namespace hopscotch
