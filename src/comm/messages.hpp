// SPDX-License-Identifier: Apache-2.0
// Every kind of message, and a message as its sender and its reader see it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "comm/buffer_pool.hpp"
#include "core/byte_view.hpp"
#include "core/ids.hpp"

namespace hopscotch {

enum class MessageKind : std::uint16_t {
    // clang-format off
    offer, received, unreachable, heartbeat,   // courier to courier
    process,                                   // likewise, at the start: which process the sender is
    greeting,                                  // likewise: opens the connection before the first hop needs it
    state, slots, gradient, parameters, rows,  // a push; slots: of a parameter server
    welcome, hello,                            // roll call
    lap, stop, fetch_best, score_best, analyse_best, pause, save, leave, keep, settle, visit,  // rank 0 -> trainers
    shutdown, farewell,  // likewise
    lost,  // rank 0 -> trainers, and rank 0's courier to itself: the job goes on without that rank
    lap_done, turn, checkpointed, scored, analysed, paused, all_saved, settled,  // trainer -> rank 0
    damaged, goodbye, fatal,  // likewise
    share, unit,  // among trainers that train a lap or a unit together; the first one also sends lap and stop
    serve, pull, rows_wanted,  // to a trainer's service: a parameter server, or the owner of rows
    test                       // benchmarks and tests
    // clang-format on
};
std::string_view name_of(MessageKind kind);

// A message for this rank: a control message, or a push that has arrived.
struct Incoming {
    Rank from;
    MessageKind kind = MessageKind::test;
    Bytes body;            // of a push: its header
    Buffer state;          // of a push: its block
    double arrived_s = 0;  // on this process's monotonic clock; it may have waited for its reader since
};

struct Lost {
    Rank rank;
    std::string why;
};
template <class A>
void fields(A& a, Lost& m) {
    a(m.rank, m.why);
}

// A block for another rank, not yet offered to that rank.
struct Push {
    Rank to;
    MessageKind kind = MessageKind::state;
    Bytes header;
    Buffer state;
};

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

}  // namespace hopscotch
