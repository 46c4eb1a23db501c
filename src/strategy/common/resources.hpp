// SPDX-License-Identifier: Apache-2.0
// The things that a strategy works with on every rank of a job.
#pragma once
#include "core/ids.hpp"
#include "schedule/visit.hpp"

namespace hopscotch {

class Courier;
struct Experiment;
struct Lap;

// The rank of a trainer: rank 0 schedules, ranks 1.. train.
inline Rank rank_of(TrainerId trainer) { return Rank(trainer.value + 1); }
inline TrainerId trainer_of(Rank rank) { return TrainerId(rank.value - 1); }

// Of rank 0 and of every trainer.
struct Resources {
    Courier& courier;
    Experiment const& experiment;
    OwnerTable owners;
};

// The owner of the trial's first shard, or the first owner of its first bundle: the lap starts and ends there.
TrainerId home_of(Lap const& lap, Resources const& resources);

}  // namespace hopscotch
