// SPDX-License-Identifier: Apache-2.0
// The other end of RowService: a trainer asks for rows of shards that it does not own, goes on, and takes them later. Used
// by its compute thread, which waits for them in the courier's inbox.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "strategy/common/strategy.hpp"

namespace hopscotch {

class RowClient {
public:
    using Ticket = std::uint64_t;

    // set_aside: takes messages that arrive while this trainer waits for rows and that are about something else.
    RowClient(Resources const& resources, std::function<void(Incoming)> set_aside);

    // Asks the shard's owner; returns at once. wanted.ticket is filled in here.
    Ticket ask(RowsWanted wanted);

    // What was asked for with this ticket, once: a block of rows (data/batches/row_block.hpp). Throws CommError if it does
    // not come within run.stall_s, JobEnded when rank 0 has ended the job.
    Buffer take(Ticket ticket);

    void drop(Ticket ticket);     // nobody will take it
    void keep(Incoming message);  // rows that came while nobody waited

    // Drops everything, and waits up to a second for what is still on its way: a trainer that leaves while an owner pushes
    // to it would keep that owner waiting.
    void settle();

    double take_waited_s() { return std::exchange(waited_s_, 0); }  // in take(), since the last call

private:
    struct Asked {
        ShardId shard;
        Buffer rows;  // empty: on its way
        bool wanted = true;
    };
    void wait_for(Asked& asked);
    void sort(Incoming message);

    Courier& courier_;
    OwnerTable const& owners_;
    double stall_s_;
    Ticket first_, next_;  // of this owner table: what was asked before it is no concern
    std::function<void(Incoming)> set_aside_;
    std::map<Ticket, Asked> asked_;
    double waited_s_ = 0;
};

}  // namespace hopscotch
