// SPDX-License-Identifier: Apache-2.0
// A trainer that trains whole laps by itself, one after another in the order of their arrival: the workers of `sequential`
// and `task_parallel`. The states of its trials rest with it.
#pragma once
#include <deque>
#include <set>

#include "strategy/trainer/trainer_loop.hpp"

namespace hopscotch {

class WholeLaps : public TrainerLoop {
public:
    explicit WholeLaps(WorkerResources const& resources) : TrainerLoop(resources) {}

protected:
    void handle(Incoming message) override;
    void work() override;
    virtual void train_unit(Journey& journey, MutableBytes state);
    Lap const& next_lap() const { return laps_.front(); }

private:
    bool may_work() const override { return !paused() && !laps_.empty(); }
    void drop(TrialId trial) override;
    void leave_waiting(TrialId trial) override;
    Buffer state_of(LapBegin& begun);

    std::deque<Lap> laps_;
    std::set<TrialId> ended_;
};

}  // namespace hopscotch
