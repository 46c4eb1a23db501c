// SPDX-License-Identifier: Apache-2.0
// The messages of a dispatched policy, as structs. The picture is in match_dispatcher.hpp.
#pragma once
#include <cstdint>

#include "schedule/matchmaker.hpp"
#include "strategy/common/lap_codec.hpp"

namespace hopscotch {

class TrialRunner;

template <class A>
void fields(A& a, HeldOut& m) {
    a(m.fold, m.folds);
}

template <class A>
void fields(A& a, WaitingLap& m) {
    a(m.id, m.remaining, m.unit, m.at, m.route, m.held_out, m.visited, m.bound, m.repeats);
}

// MessageKind::turn, trainer -> rank 0. waits: a lap begins, or continues from a file. ended: its unit. over: the lap has
// ended in any way.
struct Turn {
    enum class What : std::uint8_t { waits, ended, over } what = What::waits;
    WaitingLap lap;  // ended, over: the id only
    std::int64_t rows = 0;
    double seconds = 0;
};
template <class A>
void fields(A& a, Turn& m) {
    a(m.what, m.lap, m.rows, m.seconds);
}
Turn turn_of(Turn::What what, Journey const& journey, TrialRunner const& runner);

// MessageKind::visit, rank 0 -> the trainer that has the state.
struct Visit {
    LapId lap;
    ShardId shard;
};
template <class A>
void fields(A& a, Visit& m) {
    a(m.lap, m.shard);
}

}  // namespace hopscotch
