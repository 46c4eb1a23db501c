// SPDX-License-Identifier: Apache-2.0
// The blocks on their way out of and into this rank: the push protocol of courier_messages.hpp as two small state machines,
// under the courier's engine lock. A state may be larger than 2 GB: it travels in pieces, or its memory changes hands.
#pragma once
#include <deque>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "comm/buffer_pool.hpp"
#include "comm/courier_messages.hpp"
#include "comm/messages.hpp"
#include "comm/traffic.hpp"
#include "comm/world.hpp"

namespace hopscotch {

class Peers;

// What transfers need of their courier. Under its engine lock, except look_soon: any thread.
struct Carrier {
    World& world;
    Peers& peers;
    std::shared_ptr<BufferPool> pool;
    std::size_t piece_bytes = 0;
    std::function<void(Rank to, MessageKind kind, Bytes const& body)> post;  // a control message
    std::function<void(Incoming)> deliver;                                   // to this rank's own thread
    std::function<void(Traffic, std::size_t bytes)> count;
    std::function<void()> look_soon;
};

class Transfers {
public:
    explicit Transfers(Carrier carrier) : carrier_(std::move(carrier)), last_to_(carrier_.world.rank()) {}
    ~Transfers();

    void offer(Push push, double now);
    void on_offer(Rank from, Offer offer, double now);
    void on_received(Rank from, Received const& received);
    void on_unreachable(Rank from, Unreachable const& unreachable, double now);

    bool progress(double now);      // true if something moved
    bool pieces_in_flight() const;  // then the courier looks again soon
    bool nothing_leaves() const;
    bool idle() const { return outgoing_.empty() && incoming_.empty() && waiting_.empty(); }
    void check_deadlines(double now) const;  // throws CommError
    void bury(Rank rank);                    // drops everything from and to that rank
    void abandon();                          // the job ends: drops everything, and starts nothing more

private:
    struct Out {
        Rank to;
        MessageKind kind = MessageKind::state;
        Buffer state;
        bool memory_offered = false;  // then no pieces go out
        int tag = 0;
        std::size_t next = 0;  // first byte not yet handed to the world
        std::deque<Request> requests;
        double since = 0;       // of the last progress
        bool received = false;  // the peer has confirmed it
        bool all_out() const { return next == state.bytes().size() && requests.empty(); }
    };
    struct Memory {
        Buffer block;
        bool adopted = false;  // the sender's, with the state
    };
    struct In {
        std::uint64_t id = 0;
        Incoming message;
        bool memory_offered = false;
        std::future<Memory> memory;  // valid: being made, and nothing is received yet
        std::deque<Request> requests;
        double since = 0;
    };
    void start(Push push, double now);
    void start_waiting(double now);
    static Memory memory_for(BufferPool& pool, PieceOffer const& offered, std::size_t bytes);
    bool is_here(In& in, Memory memory, double now);
    bool take_pieces(In& in, double now, bool& moved);
    void acknowledge(In& in);
    void let_go(Out out);
    void let_go(In in);
    bool send_pieces(Out& out, double now);

    Carrier carrier_;
    std::uint64_t next_id_ = 1;
    std::set<Rank> unreachable_;  // cannot map this rank's memory
    bool abandoned_ = false;
    std::map<std::uint64_t, Out> outgoing_;
    // Pushes of parameter servers: two at a time (the second hides the start of the first). Each rank begins with its
    // neighbour. Many at once to one receiver would overrun its link while others idle (incast: Vasudevan et al. 2009).
    std::list<Push> waiting_;
    std::vector<std::uint64_t> turns_;  // ids of pushes that have begun and whose pieces were not all out
    Rank last_to_;                      // receiver of the push before; this rank: none yet
    std::list<In> incoming_;
    std::vector<In> being_made_;  // of pushes that were dropped: their threads still use the carrier
};

}  // namespace hopscotch
