// SPDX-License-Identifier: Apache-2.0
// The structs of the couriers' own messages. A push of one state:
//   rank 1 -> 2  Offer{id 7, bytes, header}, pieces of 8 MB with tag 8    MPI holds the pieces back until 2 has a buffer
//   rank 2 -> 1  Received{id 7}                                           only now does 1 free its copy
// On one host the memory itself can change hands:
//   rank 1 -> 2  Offer{id 7, bytes, header, memory}
//   rank 2 -> 1  Received{id 7}       the memory is 2's now
//           or   Unreachable{id 7}    2 cannot map the memory: 1 sends pieces, for this state and all later ones
#pragma once
#include <cstdint>

#include "comm/activity.hpp"
#include "comm/messages.hpp"
#include "comm/shared_piece.hpp"
#include "core/byte_view.hpp"
#include "core/ids.hpp"

namespace hopscotch {

inline constexpr std::uint16_t k_protocol = 9;

struct Offer {
    std::uint64_t id = 0;  // counted by the sender
    MessageKind kind = MessageKind::state;
    std::uint64_t bytes = 0;
    Bytes header;            // a lap's record so far, or the name of a part: the courier does not read it
    PieceOffer memory = {};  // empty: pieces follow
};
template <class A>
void fields(A& a, Offer& m) {
    a(m.id, m.kind, m.bytes, m.header, m.memory);
}

struct Received {
    std::uint64_t id = 0;
};
template <class A>
void fields(A& a, Received& m) {
    a(m.id);
}

struct Unreachable {
    std::uint64_t id = 0;
};
template <class A>
void fields(A& a, Unreachable& m) {
    a(m.id);
}

// A rank's Activity. Every courier sends it to rank 0; rank 0's courier sends its own to all, so that trainers notice its
// silence.
struct Heartbeat {
    std::uint64_t batches = 0;  // finished since the start; the same number during a stall
    double flops = 0;           // of the units finished since the start
    TrialId trial;              // of the unit under way; -1: idle
    int epoch = 0;
    ShardId shard;
    Phase phase = Phase::compute;
};
template <class A>
void fields(A& a, Heartbeat& m) {
    a(m.batches, m.flops, m.trial, m.epoch, m.shard, m.phase);
}

}  // namespace hopscotch
