// SPDX-License-Identifier: Apache-2.0
// The thread of a rank that talks to the world. It moves control messages and states while the rank's own thread trains (or
// schedules), counts bytes, and keeps the deadlines. It does no disk I/O, and no arithmetic except the additions of an
// all-reduce. Without traffic the thread sleeps, since a rank that spins would take a core from a trainer. A local send
// wakes it, and so does a world with a bell; it looks at other worlds every 20 us to 1 ms. A thread that waits for an
// exchange drives the exchange itself, under the engine's lock: this saves two changes of thread a message.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "comm/activity.hpp"
#include "comm/messages.hpp"
#include "comm/traffic.hpp"
#include "comm/world.hpp"

namespace hopscotch {

struct CourierOptions {
    std::size_t piece_bytes = std::size_t{8} << 20;  // 4-16 MB: larger ones block control messages inside one MPI call
    double deadline_s = 60;                          // of each step of a transfer, and of a silent peer
    double heartbeat_s = 0.5;
    std::function<double()> clock = {};  // of deadlines, silences and heartbeats; empty: monotonic_s
};

class Exchange;
class Exchanges;
class PeerProcesses;
class Peers;
class Transfers;

// Lock order: the engine's, then the mailbox's. Peers and the pool lock for themselves, and take no other lock meanwhile.
class Courier {
public:
    // The world must outlive the courier. No one else may call the world before close() or the destructor.
    Courier(World& world, CourierOptions options);
    ~Courier();  // stops without flushing

    // Any thread. Return at once. kind: state, slots, gradient, parameters or rows. A message to this rank itself stays in
    // memory.
    void send(Rank to, MessageKind kind, Bytes body);
    void push(Rank to, Bytes header, Buffer state, MessageKind kind = MessageKind::state);

    // True if every push from here has arrived.
    bool pushes_delivered();

    // The next control message or arrived push for this desk, in order of arrival per sender; empty after timeout_s.
    // Rethrows the error that broke the courier: CommError names the silent rank and the seconds.
    std::optional<Incoming> receive(double timeout_s, Desk desk = Desk::main);

    // Any thread. Starts this rank's part of an exchange, and waits for its end. finish: false if rank 0 has sent Shutdown
    // meanwhile; rethrows the error that broke the courier.
    void start(std::shared_ptr<Exchange> exchange);
    bool finish(Exchange const& exchange);

    // The other ranks. Heartbeats flow from the start until leave_quietly() or stop_beating(): then peers end in good order,
    // and nothing may follow the last message.
    Peers& peers() { return *peers_; }
    void leave_quietly();
    void stop_beating();

    // Rank 0. give_up: delivers a message of kind lost, as from that rank: the job may go on without the rank. Silence has
    // the same effect if losses are survived. bury: drops everything that is under way to or from the rank; from now on
    // nothing goes there or comes from there.
    void give_up(Rank rank, std::string const& why);
    void bury(Rank rank);

    // Waits until all messages have been delivered, then stops. After rank 0's Shutdown only messages to rank 0 count, since
    // other ranks may have left. Throws CommError after deadline_s.
    void close();

    BufferPool& pool() { return *pool_; }
    Activity& activity() { return activity_; }
    std::uint64_t bytes_sent(Traffic traffic) const { return sent_[static_cast<std::size_t>(traffic)]; }
    World& world() { return world_; }

private:
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
    std::chrono::microseconds time_to_look(int quiet_rounds, bool settled) const;
    bool turn(double now);
    void check_exchanges(double now);
    bool pump();
    void abandon_peers();
    void bury_now(Rank rank);
    void let_go(Pending pending);
    void on_lost(Lost const& lost);
    bool send_queued();
    bool take_arrivals();
    bool finish_sends();
    void dispatch(Rank from, ByteView bytes);
    void beat(double now);
    void tell_watchers(MessageKind kind, Bytes const& body);
    void check_peers(double now);
    void deliver(Incoming incoming);
    void look_soon();  // any thread
    std::deque<Incoming>& inbox(Desk desk) { return inboxes_[static_cast<std::size_t>(desk)]; }
    void post(Rank to, MessageKind kind, Bytes const& body);  // under the engine's lock
    std::unique_ptr<Transfers> make_transfers();

    World& world_;
    CourierOptions options_;
    std::shared_ptr<BufferPool> pool_ = std::make_shared<BufferPool>();
    Activity activity_;
    std::unique_ptr<Peers> peers_;
    std::array<std::atomic<std::uint64_t>, k_traffics> sent_{};

    mutable std::mutex mutex_;  // the mailbox's: of everything down to rung_
    std::condition_variable wake_courier_, wake_owner_;
    std::deque<Outgoing> outbox_;
    std::deque<Push> pushes_;
    std::array<std::deque<Incoming>, 2> inboxes_;  // by Desk
    std::exception_ptr failure_;
    bool quiet_ = false, closing_ = false, has_bell_ = false;
    bool rung_ = false;  // by the world's bell, since the last look
    std::atomic<bool> stopping_ = false;

    std::mutex engine_;  // of all calls of the world, and everything down to alone_
    std::unique_ptr<Transfers> transfers_;
    std::deque<Pending> sends_, arrivals_;
    std::unique_ptr<Exchanges> exchanges_;
    std::unique_ptr<PeerProcesses> processes_;
    double next_beat_ = 0;
    bool alone_ = false;  // only messages to rank 0 matter any more

    std::atomic<int> helpers_ = 0;      // threads in finish()
    std::atomic<double> helped_s_ = 0;  // when the last one left it
    std::thread thread_;
};

}  // namespace hopscotch
