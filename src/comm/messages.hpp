// SPDX-License-Identifier: Apache-2.0
// Every kind of control message, and the structs of the couriers' own messages. A push of one state:
//   rank 1 -> 2  Offer{id 7, bytes, header}, pieces of 8 MB with tag 8    MPI holds the pieces back until 2 has a buffer
//   rank 2 -> 1  Received{id 7}                                           only now does 1 free its copy
// On one host the memory itself can change hands:
//   rank 1 -> 2  Offer{id 7, bytes, header, memory}
//   rank 2 -> 1  Received{id 7}       the memory is 2's now
//           or   Unreachable{id 7}    2 cannot map the memory: 1 sends pieces, for this state and all later ones
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "comm/activity.hpp"
#include "comm/buffer_pool.hpp"
#include "comm/codec.hpp"
#include "comm/shared_memory.hpp"
#include "core/ids.hpp"

namespace hopscotch {

inline constexpr std::uint16_t k_protocol = 7;

enum class MessageKind : std::uint16_t {
    // clang-format off
    offer, received, unreachable, heartbeat,   // courier to courier
    greeting,                                  // likewise: opens the connection before the first hop needs it
    state, slots, gradient, parameters, rows,  // a push; slots: of a parameter server
    welcome, hello,                            // roll call
    lap, stop, fetch_best, score_best, pause, save, leave, keep, settle, shutdown, farewell,  // rank 0 -> trainers
    lost,  // rank 0 -> trainers, and rank 0's courier to itself: the job goes on without that rank
    lap_done, checkpointed, scored, paused, all_saved, settled, damaged, goodbye, fatal,      // trainer -> rank 0
    share,                     // among trainers that train a lap together; the first one also sends lap and stop
    serve, pull, rows_wanted,  // to a trainer's service: a parameter server, or the owner of rows
    test                       // benchmarks and tests
    // clang-format on
};
std::string_view name_of(MessageKind kind);

// A message for this rank: a control message, or a push that has arrived.
struct Incoming {
    Rank from;
    MessageKind kind = MessageKind::test;
    Bytes body;    // of a push: its header
    Buffer state;  // of a push: its block
};

// A block for another rank, not yet offered to that rank.
struct Push {
    Rank to;
    MessageKind kind = MessageKind::state;
    Bytes header;
    Buffer state;
};

struct Lost {
    Rank rank;
    std::string why;
};
template <class A>
void fields(A& a, Lost& m) {
    a(m.rank, m.why);
}

// The reader of a message on its rank: the rank's own thread, or its service (a parameter server, or the owner of rows).
enum class Desk { main, service };
constexpr Desk desk_of(MessageKind kind) {
    switch (kind) {
        case MessageKind::gradient:
        case MessageKind::serve:
        case MessageKind::pull:
        case MessageKind::rows_wanted: return Desk::service;
        default: return Desk::main;
    }
}

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
    std::uint64_t units = 0;
    TrialId trial;  // of the unit under way; -1: idle
    int epoch = 0;
    ShardId shard;
    Phase phase = Phase::compute;
};
template <class A>
void fields(A& a, Heartbeat& m) {
    a(m.batches, m.units, m.trial, m.epoch, m.shard, m.phase);
}

}  // namespace hopscotch
