// SPDX-License-Identifier: Apache-2.0
// A strategy executes laps: one trial, one epoch. It decides which trainer trains on which shard and how states move; it
// never decides what to train. Every rank builds the same strategy from the same experiment.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "comm/courier.hpp"
#include "comm/nccl_calls.hpp"
#include "model/gpu/device.hpp"
#include "schedule/lap.hpp"
#include "schedule/visit.hpp"
#include "strategy/common/trial_runner.hpp"

namespace hopscotch {

// The rank of a trainer: rank 0 schedules, ranks 1.. train.
inline Rank rank_of(TrainerId trainer) { return Rank(trainer.value + 1); }
inline TrainerId trainer_of(Rank rank) { return TrainerId(rank.value - 1); }

// The GPU of a trainer, as those that train together tell each other, and how it speaks NCCL.
struct TrainerGpu {
    DeviceInfo info;
    std::function<std::shared_ptr<NcclCalls>(std::string const& device)> nccl = make_nccl;
};

// What this rank has. runner: trainers only.
struct Resources {
    Courier& courier;
    Experiment const& experiment;
    OwnerTable owners;
    TrialRunner* runner = nullptr;
    CheckpointTarget checkpoints = {};  // no run_dir: none are written
    TrainerGpu gpu = {};
};

class Strategy {
public:
    virtual ~Strategy() = default;

    // Rank 0, Local. Queues the lap and returns at once; its record reaches the sink of the run later, in any order.
    virtual void execute(Lap const& lap) = 0;

    // Rank 0, Local. A record has come, and what it released has been executed.
    virtual void lap_done(LapRecord const&) {}

    // Rank 0, Local. The trial has ended: everyone lets go of what belongs to it.
    virtual void forget(TrialId trial) = 0;

    // Rank 0, Local. The lap of this trial that is under way ends with its unit, as stopped: its record says so. May come to
    // nothing (nothing is under way, or trainers train it together).
    virtual void leave(TrialId trial, std::string const& why) = 0;

    // Rank 0, Local. The trial's state after that lap, which has not ended or after which it rests, goes to a file, which
    // saved() tells of. A trainer that has gone on from there has no such state any more: then nothing comes.
    virtual void keep_end(TrialId trial, int epoch) = 0;

    // Rank 0, Local. The snapshot of a trial's best epoch, asked from the trainer that validated it.
    // Throws CommError if it does not come within run.deadline_s.
    virtual Buffer fetch_best(TrialId trial, int epoch, TrainerId home) = 0;

    // Rank 0, Local. Has the trainer that validated it score that snapshot on the test shards; the record reaches scored().
    virtual void score_best(Lap const& lap, TrainerId home) = 0;

    // Trainers. Serves laps until rank 0 says shutdown; or until it says how the job goes on after a loss, which is
    // returned. Throws CommError when rank 0 is silent or a transfer fails.
    virtual std::optional<Welcome> serve() = 0;
};

}  // namespace hopscotch
