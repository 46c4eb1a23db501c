// SPDX-License-Identifier: Apache-2.0
// What trainers that train a lap together tell each other.
#pragma once
#include <vector>

#include "strategy/common/lap_codec.hpp"

namespace hopscotch {

// Where one of the trainers that train a lap together is, after an update of all.
struct MemberPlace {
    std::vector<UnitRecord> units;  // the last one is under way
    std::int64_t batches = 0, rows = 0;
    double loss_sum = 0;
    Bytes own;            // what of the state differs between them
    bool failed = false;  // it only keeps the others company
};
template <class A>
void fields(A& a, MemberPlace& m) {
    a(m.units, m.batches, m.rows, m.loss_sum, m.own, m.failed);
}

// What the first of them says when they look at the clock together: whether to save the lap so far, to leave it then, and
// after how many more steps they look again.
struct Look {
    bool save = false, leave = false;
    std::int64_t steps = 1;
};
template <class A>
void fields(A& a, Look& m) {
    a(m.save, m.leave, m.steps);
}

// The n-th time that all of them tell all.
struct Share {
    std::uint64_t sequence = 0;
    Bytes body;
};
template <class A>
void fields(A& a, Share& m) {
    a(m.sequence, m.body);
}

}  // namespace hopscotch
