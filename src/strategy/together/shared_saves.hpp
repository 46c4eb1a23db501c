// SPDX-License-Identifier: Apache-2.0
// Checkpoints in the middle of a lap or unit that a group trains together: one file with the state of the first member, the
// place of each member, and each one's own part of the state: buffers (batch statistics of its rows), slots of optimizers
// that are not averaged. About once a second all members look at the first one's clock together.
#pragma once
#include <cstdint>

#include "core/ids.hpp"
#include "strategy/together/shared_lap.hpp"

namespace hopscotch {

class Group;
class StateKeeper;
struct Journey;
struct WorkerResources;

class SharedSaves {
public:
    SharedSaves(WorkerResources const& resources, StateKeeper& keeper, Group& group, SharedLap::Own own)
        : resources_(resources), keeper_(keeper), group_(group), own_(own) {}

    // Before steps of this trial: the number of steps to the first look, which the first member tells the others. begin: it
    // counts from `steps`, the steps made so far.
    std::int64_t steps_to_look(TrialId trial);
    void begin(std::int64_t steps, std::int64_t steps_to_look);

    // Every member calls this at the same numbers of steps, when all members hold the same parameters. The first member
    // decides whether the lap so far is saved. Throws Paused if the job pauses.
    void look(SharedLap& mine, Journey& journey, std::int64_t steps);

private:
    std::int64_t steps_to_look() const;
    void save(SharedLap& mine, Journey& journey, std::int64_t steps);

    WorkerResources const& resources_;
    StateKeeper& keeper_;
    Group& group_;
    SharedLap::Own own_;
    std::int64_t next_look_ = 0, first_step_ = 0;
    double started_s_ = 0, steps_per_s_ = 0;  // the first member's
    TrialId timed_;                           // whose steps these are
};

}  // namespace hopscotch
