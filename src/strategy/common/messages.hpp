// SPDX-License-Identifier: Apache-2.0
// The messages between rank 0 and the trainers during a job, as structs; comm/codec.hpp turns them into bytes. Messages of
// one value are that value: stop sends a TrialId, fetch_best and keep send a LapId, lap,
// score_best and analyse_best a Lap, analysed a text.
#pragma once
#include <cstdint>
#include <string>

#include "core/ids.hpp"

namespace hopscotch {

// Rank 0 -> trainers: the trial's lap ends with the unit under way.
struct Leave {
    TrialId trial;
    std::string why;
};
template <class A>
void fields(A& a, Leave& m) {
    a(m.trial, m.why);
}

// MessageKind::pause, rank 0 -> trainers: stop at the next batch. The answer, with the same round, comes when no state is on
// its way out any more. MessageKind::settle: the answer comes when all earlier messages have been obeyed.
struct Pause {
    int round = 0;
};
template <class A>
void fields(A& a, Pause& m) {
    a(m.round);
}

// Rank 0 -> trainers that have paused: write each state that has no file of its present place, within the deadline.
struct Save {
    int round = 0;
    double deadline_s = 0;
};
template <class A>
void fields(A& a, Save& m) {
    a(m.round, m.deadline_s);
}

// The answer to Save, with the number of states that could not be written.
struct AllSaved {
    int round = 0;
    std::uint64_t unsaved = 0;
};
template <class A>
void fields(A& a, AllSaved& m) {
    a(m.round, m.unsaved);
}

// MessageKind::fatal and MessageKind::damaged, trainer -> rank 0.
struct Fatal {
    std::string text;
};
template <class A>
void fields(A& a, Fatal& m) {
    a(m.text);
}

}  // namespace hopscotch
