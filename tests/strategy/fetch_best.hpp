// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>

#include "comm/buffer_pool.hpp"
#include "core/ids.hpp"
#include "schedule/lap.hpp"
#include "strategy/common/dispatcher.hpp"
#include "strategy/common/lap_sink.hpp"
#include "strategy/common/pump.hpp"

namespace hopscotch::testing {

// Rank 0, when every trial has ended: the state after a trial's best epoch.
inline Buffer fetch_best(Pump& pump, LapId const& lap, TrainerId home) {
    struct Receiver : LapSink {
        void lap_done(LapRecord) override {}
        void fetched(Buffer&& sent) override { state = std::move(sent); }
        Buffer state;
    } receiver;
    pump.dispatcher().fetch_best(lap, home);
    while (!receiver.state) refuse(pump.take(receiver, 1));
    return std::move(receiver.state);
}

}  // namespace hopscotch::testing
