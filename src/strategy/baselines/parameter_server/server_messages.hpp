// SPDX-License-Identifier: Apache-2.0
// The messages between workers and parameter servers. A gradient is also the question for the parameters after it:
//   worker -> server  push gradient{part, step}
//   server -> worker  push parameters{part, step}    as soon as the mode allows
#pragma once
#include "strategy/common/lap_codec.hpp"

namespace hopscotch {

// MessageKind::gradient, with the gradient of the part. MessageKind::pull, step -1: from a worker without rows.
struct GradientPart {
    TrialId trial;
    int epoch = 0, part = 0, worker = 0;
    std::int64_t step = 0;
};
template <class A>
void fields(A& a, GradientPart& m) {
    a(m.trial, m.epoch, m.part, m.worker, m.step);
}

// MessageKind::parameters, with the parameters of the part. Without a block: a sign of life, while slower workers train.
struct ParametersPart {
    TrialId trial;
    int epoch = 0, part = 0;
    std::int64_t step = 0, staleness = 0;
};
template <class A>
void fields(A& a, ParametersPart& m) {
    a(m.trial, m.epoch, m.part, m.step, m.staleness);
}

// MessageKind::slots, to the first worker at the end of a lap, with the part's slots one after another: the first worker
// hashes and keeps them with the state. Without slots there is no block.
struct PartEnd {
    TrialId trial;
    int epoch = 0, part = 0;
    std::vector<std::uint16_t> order;  // SyncFacts::server_log
};
template <class A>
void fields(A& a, PartEnd& m) {
    a(m.trial, m.epoch, m.part, m.order);
}

// MessageKind::serve. begin and quit: from the rank's own thread. forget: from the first worker, when a trial has ended.
struct ServeOrder {
    enum class What : std::uint8_t { begin, forget, quit };
    What what = What::begin;
    TrialId trial;
};
template <class A>
void fields(A& a, ServeOrder& m) {
    a(m.what, m.trial);
}

// MessageKind::lap, from the first worker to a trainer that only serves: the lap, and the counters in its state.
struct ServeLap {
    Lap lap;
    std::int64_t steps = 0, samples = 0, reductions = 0;
};
template <class A>
void fields(A& a, ServeLap& m) {
    a(m.lap, m.steps, m.samples, m.reductions);
}

}  // namespace hopscotch
