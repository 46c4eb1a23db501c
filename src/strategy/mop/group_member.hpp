// SPDX-License-Identifier: Apache-2.0
// A member of a group of mop that is not its first (together/unit_group.hpp): it only trains its part of a unit when the
// first member calls. The states that it gets are copies.
#pragma once
#include <deque>

#include "strategy/together/group_messages.hpp"
#include "strategy/together/unit_group.hpp"
#include "strategy/trainer/trainer_loop.hpp"

namespace hopscotch {

class GroupMember : public TrainerLoop {
public:
    explicit GroupMember(WorkerResources const& resources);

private:
    void handle(Incoming message) override;
    bool may_work() const override { return !calls_.empty(); }  // the first member waits, even while the job pauses
    void work() override;
    void drop(TrialId) override {}

    UnitGroup group_;
    std::deque<UnitCall> calls_;
};

}  // namespace hopscotch
