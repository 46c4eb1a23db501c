// SPDX-License-Identifier: Apache-2.0
// The one thread of a rank that talks to the world: it moves control messages and states while the rank's own thread
// trains (or schedules), counts bytes, and keeps the deadlines. It never does disk I/O or arithmetic. While nothing is in
// flight it waits on a condition variable with a growing back-off (0 -> 200 us -> 1 ms, reset by traffic): a spinning
// rank steals a core. The one exception: a thread that waits for an exchange drives that itself, under the engine's lock,
// which saves two changes of thread a message.
#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "comm/buffer_pool.hpp"
#include "comm/exchange.hpp"
#include "comm/messages.hpp"
#include "comm/peers.hpp"
#include "comm/traffic.hpp"
#include "comm/world.hpp"

namespace hopscotch {

struct CourierOptions {
    std::size_t piece_bytes = std::size_t{8} << 20;  // 4-16 MB: larger ones block control messages inside one MPI call
    double deadline_s = 60;                          // for each step of a transfer, and for a silent peer
    double heartbeat_s = 0.5;
};

struct Incoming {
    Rank from;
    MessageKind kind = MessageKind::test;
    Bytes body;    // of a push: its header
    Buffer state;  // of a push: its block
};

// What the rank's own thread is doing, written by it, read by its courier for the heartbeat.
struct Activity {
    std::atomic<std::uint64_t> batches = 0, units = 0;
    std::atomic<std::int32_t> trial = -1, epoch = 0, shard = -1;
    std::atomic<Phase> phase = Phase::compute;
    std::atomic<bool> leave = false;    // set by the courier when rank 0 has said shutdown
    std::atomic<bool> pause = false;    // likewise pause: no further than the next batch
    std::atomic<std::size_t> lost = 0;  // ranks of which rank 0 has said so: what they owe will not come
};

class Transfers;

class Courier {
public:
    // The world must outlive the courier, and nobody else may call it until close() or the destructor.
    Courier(World& world, CourierOptions options);
    ~Courier();  // stops without flushing

    // Any thread. Return at once. kind: state, gradient, parameters or rows. What goes to this rank itself stays in memory.
    void send(Rank to, MessageKind kind, Bytes body);
    void push(Rank to, Bytes header, Buffer state, MessageKind kind = MessageKind::state);

    // Whether all that was pushed from here has arrived.
    bool pushes_delivered();

    // The next control message or arrived push for this desk, in order of arrival per sender; none after timeout_s. Rethrows
    // what broke the courier: CommError names the silent rank and the seconds.
    std::optional<Incoming> receive(double timeout_s, Desk desk = Desk::main);

    // Any thread. Starts this rank's part of an exchange, and waits until it is done. finish: false when rank 0 has said
    // shutdown meanwhile; rethrows what broke the courier.
    void start(std::shared_ptr<Exchange> exchange);
    bool finish(Exchange const& exchange);

    // The others, as this courier hears them. Heartbeats flow from the start until leave_quietly() or stop_beating(): peers
    // end in good order now, and nothing may be sent behind the last word.
    Peers& peers() { return peers_; }
    void leave_quietly();
    void stop_beating();

    // Rank 0. give_up: a message of kind lost, as from that rank, tells that the job may go on without it; silence does the
    // same where losses are survived. bury: what is under way to or from it is forgotten, and nothing goes to or comes from
    // it any more.
    void give_up(Rank rank, std::string const& why);
    void bury(Rank rank);

    // Waits until everything sent has been delivered, then stops; after rank 0's shutdown only what was sent to rank 0,
    // since others may have left. Throws CommError after deadline_s.
    void close();

    BufferPool& pool() { return *pool_; }
    Activity& activity() { return activity_; }
    std::uint64_t bytes_sent(Traffic traffic) const { return sent_[static_cast<std::size_t>(traffic)]; }
    World& world() { return world_; }

private:
    friend class Transfers;
    struct Outgoing {
        Rank to;
        MessageKind kind;
        Bytes body;
    };
    struct Pending {  // a control message on its way out or in
        Rank peer;
        Bytes bytes;
        Request request;
    };

    void run() noexcept;
    void loop();
    bool turn(double now);
    void check_exchanges(double now);
    bool pump();
    void abandon_peers();
    void bury_now(Rank rank);
    void on_lost(Lost const& lost);
    bool send_queued();
    bool take_arrivals();
    bool finish_sends();
    void dispatch(Rank from, ByteView bytes);
    void beat(double now);
    void check_peers();
    void deliver(Incoming incoming);
    std::deque<Incoming>& inbox(Desk desk) { return inboxes_[static_cast<std::size_t>(desk)]; }
    void post(Rank to, MessageKind kind, Bytes const& body);  // courier thread only

    World& world_;
    CourierOptions options_;
    std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
    Activity activity_;
    Peers peers_;
    std::array<std::atomic<std::uint64_t>, k_traffics> sent_{};

    mutable std::mutex mutex_;  // of everything down to closing_
    std::condition_variable wake_courier_, wake_owner_;
    std::deque<Outgoing> outbox_;
    struct QueuedPush {
        Rank to;
        Bytes header;
        Buffer state;
        MessageKind kind;
    };
    std::deque<QueuedPush> pushes_;
    std::array<std::deque<Incoming>, 2> inboxes_;  // by Desk
    std::exception_ptr failure_;
    bool quiet_ = false, closing_ = false;
    std::atomic<bool> stopping_ = false;

    // Under the engine's lock, which whoever calls the world holds. Taken before mutex_.
    std::mutex engine_;
    std::unique_ptr<Transfers> transfers_;
    std::deque<Pending> sends_, arrivals_;
    std::deque<Pending> graves_;  // with the dead: MPI may write there for ever
    Exchanges exchanges_;
    double next_beat_ = 0;
    bool alone_ = false;  // only messages to rank 0 matter any more

    std::atomic<int> helpers_ = 0;      // threads in finish()
    std::atomic<double> helped_s_ = 0;  // when the last one left it
    std::thread thread_;
};

}  // namespace hopscotch
