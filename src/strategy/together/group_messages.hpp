// SPDX-License-Identifier: Apache-2.0
// The messages among trainers that train a lap together.
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

// From the first member, when all look at the clock together: whether to save the lap so far, whether to leave it then, and
// the number of steps until the next look.
struct Look {
    bool save = false, leave = false;
    std::int64_t steps = 1;
};
template <class A>
void fields(A& a, Look& m) {
    a(m.save, m.leave, m.steps);
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
