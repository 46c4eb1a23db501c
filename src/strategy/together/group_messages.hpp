// SPDX-License-Identifier: Apache-2.0
// The messages among trainers that train a lap or a unit together.
#pragma once
#include <vector>

#include "strategy/common/lap_codec.hpp"

namespace hopscotch {

// The place of one of these trainers in the lap, after an update by all.
struct MemberPlace {
    std::vector<UnitRecord> units;  // the last unit is under way
    std::int64_t batches = 0, rows = 0;
    double loss_sum = 0;
    Bytes own;            // the part of the state that differs between members
    bool failed = false;  // takes part in the collectives only
};
template <class A>
void fields(A& a, MemberPlace& m) {
    a(m.units, m.batches, m.rows, m.loss_sum, m.own, m.failed);
}

// From the first member, when all look at the clock together: whether to save the lap so far, whether to leave the lap
// afterwards, and the number of steps until the next look.
struct Look {
    bool save = false, leave = false;
    std::int64_t steps = 1;
};
template <class A>
void fields(A& a, Look& m) {
    a(m.save, m.leave, m.steps);
}

// MessageKind::unit, from the first member of a group of mop: train your part of this unit with me, or validate yours.
struct UnitCall {
    enum class Work : std::uint8_t { unit, validation };
    Work work = Work::unit;
    Lap lap;
    ShardId shard = {};  // of a unit: the first member's
    std::uint64_t state_bytes = 0;
    std::int64_t steps = 0, steps_to_look = 1;
    Bytes places = {};  // of all members, if the unit goes on from a file, after this many steps
};
template <class A>
void fields(A& a, UnitCall& m) {
    a(m.work, m.lap, m.shard, m.state_bytes, m.steps, m.steps_to_look, m.places);
}

// The message of one member in the n-th exchange of messages from all to all.
struct Share {
    std::uint64_t sequence = 0;
    Bytes body;
};
template <class A>
void fields(A& a, Share& m) {
    a(m.sequence, m.body);
}

}  // namespace hopscotch
