// SPDX-License-Identifier: Apache-2.0
// The other end of RowService: a trainer asks for rows of shards that it does not own, goes on, and takes the rows later.
// For the trainer's compute thread, which waits for the rows in the courier's inbox.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "comm/buffer_pool.hpp"
#include "core/ids.hpp"

namespace hopscotch {

class Courier;
struct Incoming;
struct OwnerTable;
struct Resources;
struct RowsWanted;

class RowClient {
public:
    using Ticket = std::uint64_t;

    // set_aside: takes all other messages that arrive while this trainer waits for rows.
    RowClient(Resources const& resources, std::function<void(Incoming)> set_aside);

    // Asks the shard's owner; returns at once. wanted.ticket is filled in here.
    Ticket ask(RowsWanted wanted);

    // The rows of this ticket, once: a block of rows (data/batches/row_block.hpp). Throws CommError if they do not arrive
    // within run.stall_s, JobEnded when rank 0 has ended the job.
    Buffer take(Ticket ticket);

    void drop(Ticket ticket);     // no one will take the rows
    void keep(Incoming message);  // rows that arrived outside take()

    // Drops all requests, and waits up to a second for rows on their way: a trainer that leaves while an owner pushes to it
    // would keep that owner waiting.
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
    Ticket first_, next_;  // first_: of this owner table; rows of earlier tickets are ignored
    std::function<void(Incoming)> set_aside_;
    std::map<Ticket, Asked> asked_;
    double waited_s_ = 0;
};

}  // namespace hopscotch
