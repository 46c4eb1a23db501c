// SPDX-License-Identifier: Apache-2.0
// Every kind of control message, and the structs of those that the courier itself speaks. A push of one state:
//   rank 1 -> 2  Offer{id 7, bytes, header}, pieces of 8 MB with tag 8: MPI holds them back until 2 has a pooled buffer for
//   them rank 2 -> 1  Received{id 7}: only now does 1 let go of its copy
// On one host the memory itself can change hands:
//   rank 1 -> 2  Offer{id 7, bytes, header, memory}
//   rank 2 -> 1  Received{id 7}: it is 2's now; or Unreachable{id 7}: 2 cannot have it, and 1 sends the pieces, now and from
//   now on
#pragma once
#include <cstdint>
#include <string>

#include "comm/codec.hpp"
#include "comm/shared_memory.hpp"
#include "core/ids.hpp"

namespace hopscotch {

inline constexpr std::uint16_t k_protocol = 7;

enum class MessageKind : std::uint16_t {
    // clang-format off
    offer, received, unreachable, heartbeat,  // courier to courier
    greeting,                                // likewise: opens the connection before the first hop needs it
    state, slots, gradient, parameters, rows,  // what a push brought; slots: of a parameter server
    welcome, hello,                          // roll call
    lap, stop, fetch_best, score_best, pause, save, leave, keep, settle, shutdown, farewell,  // rank 0 -> trainers
    lost,  // rank 0 -> trainers, and its courier to itself: the job goes on without that rank
    lap_done, checkpointed, scored, paused, all_saved, settled, damaged, goodbye, fatal,  // trainer -> rank 0
    share,                                        // among trainers that train a lap together; the first also sends lap
    serve, pull, rows_wanted,                     // to a trainer's service: a parameter server, or who holds rows
    test                                     // benchmarks and tests
    // clang-format on
};

struct Lost {
    Rank rank;
    std::string why;
};
template <class A>
void fields(A& a, Lost& m) {
    a(m.rank, m.why);
}

// Who on a rank takes a message: its own thread, or its service (a parameter server, the rows that others read).
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
    std::uint64_t id = 0;  // of the sender
    MessageKind kind = MessageKind::state;
    std::uint64_t bytes = 0;
    Bytes header;            // a lap's record so far, a part's name; opaque to the courier
    PieceOffer memory = {};  // none: pieces follow
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

// What the thread of a trainer is at, for errors and stalls: who waits is not to blame.
enum class Phase : std::uint8_t { compute, exchange, parameters, rows, validation };
constexpr char const* name_of(Phase phase) {
    switch (phase) {
        case Phase::exchange: return "waiting for the other trainers";
        case Phase::parameters: return "waiting for parameters";
        case Phase::rows: return "waiting for rows of another trainer";
        case Phase::validation: return "validating";
        case Phase::compute: break;
    }
    return "computing";
}

// What a rank is doing; every courier tells rank 0, rank 0's tells all (so that trainers notice its silence).
struct Heartbeat {
    std::uint64_t batches = 0;  // finished since the start; does not move during a stall
    std::uint64_t units = 0;
    TrialId trial;  // of the unit that runs now; -1: idle
    int epoch = 0;
    ShardId shard;
    Phase phase = Phase::compute;
};
template <class A>
void fields(A& a, Heartbeat& m) {
    a(m.batches, m.units, m.trial, m.epoch, m.shard, m.phase);
}

}  // namespace hopscotch
