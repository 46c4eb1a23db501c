// SPDX-License-Identifier: Apache-2.0
#include "strategy/together/group_dispatcher.hpp"

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "comm/messages.hpp"
#include "schedule/lap.hpp"
#include "strategy/common/dispatcher.hpp"
#include "strategy/common/resources.hpp"
#include "strategy/together/step_plan.hpp"

namespace hopscotch {
namespace {

class GroupDispatcher : public Dispatcher {
public:
    using Dispatcher::Dispatcher;
    void execute(Lap const& lap) override { send_lap(root(), lap); }
    void forget(TrialId trial) override { resources().courier.send(rank_of(root()), MessageKind::stop, encode(trial)); }

private:
    TrainerId root() const { return group_of(resources().owners).front(); }
};

}  // namespace

std::unique_ptr<Dispatcher> make_group_dispatcher(Resources resources) {
    return std::make_unique<GroupDispatcher>(std::move(resources));
}

}  // namespace hopscotch
