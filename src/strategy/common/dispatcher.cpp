// SPDX-License-Identifier: Apache-2.0
#include "strategy/common/dispatcher.hpp"

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "comm/peers.hpp"
#include "schedule/lap.hpp"
#include "strategy/common/lap_codec.hpp"
#include "strategy/common/messages.hpp"

namespace hopscotch {

void Dispatcher::tell_all(MessageKind kind, Bytes const& body) {
    for (auto const rank : resources_.courier.peers().living()) resources_.courier.send(rank, kind, body);
}

void Dispatcher::send_lap(TrainerId trainer, Lap const& lap) {
    resources_.courier.send(rank_of(trainer), MessageKind::lap, encode(lap));
}

void Dispatcher::forget(TrialId trial) { tell_all(MessageKind::stop, encode(trial)); }

void Dispatcher::leave(TrialId trial, std::string const& why) { tell_all(MessageKind::leave, encode(Leave{trial, why})); }

void Dispatcher::keep_end(LapId const& lap) { tell_all(MessageKind::keep, encode(lap)); }

void Dispatcher::fetch_best(LapId const& lap, TrainerId home) {
    resources_.courier.send(rank_of(home), MessageKind::fetch_best, encode(lap));
}

void Dispatcher::score_best(Lap const& lap, TrainerId home) {
    resources_.courier.send(rank_of(home), MessageKind::score_best, encode(lap));
}

void Dispatcher::analyse_best(Lap const& lap, TrainerId home) {
    resources_.courier.send(rank_of(home), MessageKind::analyse_best, encode(lap));
}

namespace {

class HomeDispatcher : public Dispatcher {
public:
    using Dispatcher::Dispatcher;
    void execute(Lap const& lap) override { send_lap(home_of(lap, resources()), lap); }
};

}  // namespace

std::unique_ptr<Dispatcher> make_home_dispatcher(Resources resources) {
    return std::make_unique<HomeDispatcher>(std::move(resources));
}

}  // namespace hopscotch
