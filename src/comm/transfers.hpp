// SPDX-License-Identifier: Apache-2.0
// The states on their way out of and into this rank: the push protocol of messages.hpp as two small state machines, driven
// under the courier's engine lock. A state may be larger than 2 GB: it travels in pieces.
#pragma once
#include <deque>
#include <list>
#include <map>

#include "comm/courier.hpp"

namespace hopscotch {

class Transfers {
public:
    explicit Transfers(Courier& courier) : courier_(courier) {}

    void offer(Rank to, Offer what, Buffer state, double now);  // id and bytes are filled in here
    void on_offer(Rank from, Offer offer, double now);
    void on_grant(Rank from, Grant const& grant, double now);
    void on_received(Rank from, Received const& received);

    bool progress(double now);      // true if something moved
    bool pieces_in_flight() const;  // do not back off now
    bool idle() const { return outgoing_.empty() && incoming_.empty(); }
    void check_deadlines(double now) const;  // throws CommError
    void abandon();  // the job ends: none is waited for any more, and none begins

private:
    struct Out {
        Rank to;
        MessageKind kind = MessageKind::state;
        Buffer state;
        int tag = 0;           // 0: waiting for the Grant
        std::size_t next = 0;  // first byte not yet handed to the world
        std::deque<Request> requests;
        double since = 0;  // of the last progress
    };
    struct In {
        Rank from;
        std::uint64_t id = 0;
        MessageKind kind = MessageKind::state;
        Bytes header;
        Buffer state;
        std::deque<Request> requests;
        double since = 0;
    };
    bool send_pieces(Out& out, double now);

    Courier& courier_;
    std::uint64_t next_id_ = 1;
    int next_tag_ = 0;
    bool abandoned_ = false;
    std::map<std::uint64_t, Out> outgoing_;
    std::list<In> incoming_;
};

}  // namespace hopscotch
