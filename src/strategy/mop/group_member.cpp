// SPDX-License-Identifier: Apache-2.0
#include "strategy/mop/group_member.hpp"

#include "comm/activity.hpp"
#include "comm/codec.hpp"
#include "core/error.hpp"

namespace hopscotch {

GroupMember::GroupMember(WorkerResources const& resources)
    : TrainerLoop(resources),
      group_(this->resources(), keeper(), [this](Incoming message) { set_aside(std::move(message)); }) {}

void GroupMember::handle(Incoming message) {
    if (message.kind == MessageKind::share) return group_.keep(message);
    require(message.kind == MessageKind::unit, unexpected(message.kind));
    calls_.push_back(decode<UnitCall>(message.body));
}

void GroupMember::work() {
    auto const call = std::move(calls_.front());
    calls_.pop_front();
    busy_with(call.lap, call.shard, call.work == UnitCall::Work::unit ? Phase::compute : Phase::validation);
    group_.follow(call);
}

}  // namespace hopscotch
