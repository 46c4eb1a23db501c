// SPDX-License-Identifier: Apache-2.0
// A collective of a few ranks as rounds of sends and receives with a local step after each. Every rank of the group starts
// its part; the courier drives it while the rank's own thread computes. Three ranks, ring all-reduce, first of four rounds:
//   rank 1 sends chunk 0 to 2     rank 2 sends chunk 1 to 3     rank 3 sends chunk 2 to 1     then each adds its new chunk
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/buffer_pool.hpp"
#include "comm/traffic.hpp"
#include "comm/world.hpp"

namespace hopscotch {

class Exchange {
public:
    struct Send {
        Rank to;
        ByteView bytes;
    };
    struct Receive {
        Rank from;
        MutableBytes into;
    };
    struct Round {
        std::vector<Send> sends;
        std::vector<Receive> receives;
        std::function<void()> then = {};  // after all of the round; on the thread that drives it
    };
    struct Plan {
        std::vector<Round> rounds;
        Buffer scratch = {};  // the rounds receive into it, besides the caller's memory
        Traffic traffic = Traffic::gradient;
        std::string what = {};  // for errors: "gradient of trial 3, epoch 0, step 17"
    };

    // sequence: the same on every rank of the group; exchanges in flight at one time must differ in it (by less than 800).
    Exchange(Plan plan, std::uint64_t sequence);

    bool finished() const { return finished_.load(std::memory_order_acquire); }
    std::uint64_t bytes() const { return bytes_; }                  // this rank's sends and receives together
    std::uint64_t bytes_sent() const { return bytes_sent_; }        // once finished
    std::uint64_t messages_sent() const { return messages_sent_; }  // "
    std::string const& what() const { return plan_.what; }

private:
    friend class Exchanges;
    bool progress(World& world);
    void begin_round(World& world);

    Plan plan_;
    int tag_;
    std::uint64_t bytes_ = 0;
    std::size_t next_round_ = 0;
    bool in_round_ = false;
    struct Open {
        Rank peer;
        Request request;
    };
    std::vector<Open> open_;  // of the round under way
    std::uint64_t bytes_sent_ = 0, messages_sent_ = 0;
    double since_ = 0;
    std::atomic<bool> finished_ = false;
};

// The exchanges of one rank that are under way; used under the courier's engine lock only.
class Exchanges {
public:
    void start(std::shared_ptr<Exchange> exchange, World& world, double now);
    bool progress(World& world, double now, std::atomic<std::uint64_t>* sent_by_traffic);
    bool idle() const { return active_.empty(); }
    struct LongestWait {
        std::string what;
        std::vector<Rank> peers;  // with an open send or receive
        double seconds = 0;
    };
    LongestWait longest_wait(double now) const;
    void abandon(World& world);  // the job ends: cancels all exchanges

private:
    std::deque<std::shared_ptr<Exchange>> active_;
};

}  // namespace hopscotch
