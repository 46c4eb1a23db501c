// SPDX-License-Identifier: Apache-2.0
// A trainer that trains whole laps by itself, one after another in the order in which they come: what `sequential` and
// `task_parallel` have in common. The states of its trials rest with it.
#pragma once
#include <deque>
#include <map>
#include <set>

#include "strategy/common/trainer_base.hpp"

namespace hopscotch {

class WholeLaps : public TrainerBase {
protected:
    using TrainerBase::TrainerBase;

    void handle(Incoming message) override;
    void drop(TrialId trial) override;
    WaitingState const* state_at_rest(TrialId trial) const override {
        auto const found = states_.find(trial);
        return found == states_.end() ? nullptr : &found->second;
    }
    void leave_waiting(TrialId trial) override;
    bool has_work() const override { return !laps_.empty(); }
    void work() override;

    virtual void train_unit(Journey& journey, MutableBytes state) { train(journey, state); }
    Lap const& next_lap() const { return laps_.front(); }

private:
    Buffer state_of(Journey& journey);

    std::deque<Lap> laps_;
    States states_;
    std::set<TrialId> ended_;
};

}  // namespace hopscotch
