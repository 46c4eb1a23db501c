// SPDX-License-Identifier: Apache-2.0
// The courier's own thread. No other thread calls the world, except threads that wait for an exchange, under the engine's
// lock.
#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <utility>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "comm/courier_messages.hpp"
#include "comm/exchange.hpp"
#include "comm/peers.hpp"
#include "comm/process.hpp"
#include "comm/transfers.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr int k_control_tag = 0;
constexpr int k_in_flight_us = 20;
constexpr double k_helped_s = 1e-3;
constexpr int k_rank0_looks = 8, k_busy_looks = 40, k_idle_looks = 500;  // before the long wait
constexpr std::chrono::microseconds k_helped_wait(500);
constexpr std::chrono::microseconds k_listen(10'000);  // for the bell of a world that has one; deadlines need a look

Bytes envelope(MessageKind kind, Bytes const& body) {
    Encoder encoder;
    auto version = k_protocol;
    encoder(version, kind);
    auto bytes = encoder.take();
    bytes.insert(bytes.end(), body.begin(), body.end());
    return bytes;
}

}  // namespace

void Courier::run() noexcept {
    try {
        loop();
    } catch (...) {
        std::lock_guard const lock(mutex_);
        failure_ = std::current_exception();
        activity_.leave = true;  // a unit that runs now ends at its next batch
    }
    wake_owner_.notify_all();
}

void Courier::loop() {
    prctl(PR_SET_TIMERSLACK, 1000);  // of this thread, in ns: sleep as long as asked, not 50 us longer
    int quiet_rounds = 0;
    double closing_since = 0;
    while (!stopping_) {
        auto const now = options_.clock();
        std::unique_lock engine(engine_);
        if (turn(now)) {
            quiet_rounds = 0;
            continue;
        }
        ++quiet_rounds;
        bool const helped = helpers_ > 0 || now - helped_s_ < k_helped_s;
        bool const in_flight = transfers_->pieces_in_flight() || (!exchanges_->idle() && !helped);
        bool const nothing_open = sends_.empty() && arrivals_.empty() && transfers_->idle() && exchanges_->idle();
        engine.unlock();
        if (in_flight && !has_bell_) {
            std::this_thread::sleep_for(std::chrono::microseconds(k_in_flight_us));
            continue;
        }
        std::unique_lock lock(mutex_);
        bool const queued = !outbox_.empty() || !pushes_.empty();
        bool const settled = !queued && nothing_open;
        if (closing_ && settled) return;
        if (closing_) {
            if (closing_since == 0) closing_since = now;
            if (now - closing_since > peers_->deadline_s())
                throw CommError(
                    fmt::format("messages were not taken for {:.0f} s at the end of the job", peers_->deadline_s()));
        }
        if (queued || (!helped && std::exchange(rung_, false))) continue;
        wake_courier_.wait_for(lock, helped ? k_helped_wait : has_bell_ ? k_listen : time_to_look(quiet_rounds, settled));
    }
}

// Of a world without a bell. A trainer that has just become idle looks often, for about 0.1 s: its next state may be coming.
// Rank 0 looks rarely: trainers seldom wait for rank 0, which may share a core with one of them.
std::chrono::microseconds Courier::time_to_look(int quiet_rounds, bool settled) const {
    int const looks = world_.rank() == Rank(0) ? k_rank0_looks : activity_.trial < 0 ? k_idle_looks : k_busy_looks;
    bool const soon = !settled || quiet_rounds < looks;
    return std::chrono::microseconds(quiet_rounds < 4 ? 20 : soon ? 200 : 1000);
}

// One look at everything, under the engine's lock. True if something moved.
bool Courier::turn(double now) {
    beat(now);
    if (pump()) return true;  // messages that a process sent before its end count
    transfers_->check_deadlines(now);
    check_exchanges(now);
    check_peers(now);
    return false;
}

bool Courier::pump() {
    bool moved = send_queued();
    moved |= take_arrivals();
    moved |= finish_sends();
    auto const now = options_.clock();
    moved |= transfers_->progress(now);
    moved |= exchanges_->progress(world_, now, sent_.data());
    return moved;
}

void Courier::check_exchanges(double now) {
    auto const wait = exchanges_->longest_wait(now);
    if (wait.seconds <= peers_->stall_s() || peers_->job_still_s() <= peers_->stall_s()) return;
    std::string peers;
    for (auto const peer : wait.peers) peers += (peers.empty() ? "" : ", ") + peers_->name(peer);
    throw CommError(fmt::format("{}: {} neither sent nor took anything for {:.0f} s; run.stall_s sets this limit", wait.what,
                                peers, wait.seconds));
}

void Courier::post(Rank to, MessageKind kind, Bytes const& body) {
    sends_.push_back({to, envelope(kind, body), {}});
    auto& pending = sends_.back();
    pending.request = world_.send(to, k_control_tag, pending.bytes);
    sent_[static_cast<std::size_t>(Traffic::control)] += pending.bytes.size();
}

bool Courier::send_queued() {
    std::deque<Outgoing> outgoing;
    std::deque<Push> pushes;
    {
        std::lock_guard const lock(mutex_);
        outgoing.swap(outbox_);
        pushes.swap(pushes_);
    }
    std::erase_if(outgoing, [this](Outgoing const& message) { return peers_->is_buried(message.to); });
    std::erase_if(pushes, [this](Push const& push) { return peers_->is_buried(push.to); });
    if (alone_) {
        std::erase_if(outgoing, [](Outgoing const& message) { return message.to != Rank(0); });
        pushes.clear();
    }
    for (auto const& message : outgoing) post(message.to, message.kind, message.body);
    for (auto& push : pushes) transfers_->offer(std::move(push), options_.clock());
    return !outgoing.empty() || !pushes.empty();
}

bool Courier::finish_sends() {
    auto const before = sends_.size();
    std::erase_if(sends_, [this](Pending const& pending) { return world_.done(pending.request); });
    return sends_.size() != before;
}

// A long message may arrive after a short one that was sent later; arrivals_ keeps the order of each sender.
bool Courier::take_arrivals() {
    bool moved = false;
    while (auto const arrival = world_.probe(k_control_tag)) {
        arrivals_.push_back({arrival->from, Bytes(arrival->bytes), {}});
        arrivals_.back().request = world_.receive(arrival->from, k_control_tag, arrivals_.back().bytes);
        moved = true;
    }
    std::vector<Rank> waiting;
    std::vector<Pending> whole;
    for (auto pending = arrivals_.begin(); pending != arrivals_.end();) {
        bool const held = std::find(waiting.begin(), waiting.end(), pending->peer) != waiting.end();
        if (held || !world_.done(pending->request)) {
            waiting.push_back(pending->peer);
            ++pending;
            continue;
        }
        whole.push_back(std::move(*pending));
        pending = arrivals_.erase(pending);
    }
    for (auto const& message : whole) dispatch(message.peer, message.bytes);  // which may change arrivals_
    return moved || !whole.empty();
}

void Courier::dispatch(Rank from, ByteView bytes) {
    Decoder decoder(bytes);
    std::uint16_t version = 0;
    auto kind = MessageKind::test;
    decoder(version, kind);
    if (version != k_protocol)
        throw CommError(fmt::format("{} speaks protocol {} (this build {}); start every rank from one build",
                                    peers_->name(from), version, k_protocol));
    auto const body = bytes.subspan(sizeof version + sizeof kind);
    if (peers_->is_buried(from)) return;  // it has woken, but the job goes on without it
    auto const now = options_.clock();
    peers_->heard_from(from);
    if (kind == MessageKind::heartbeat) peers_->take(from, decode<Heartbeat>(body));
    if (kind == MessageKind::shutdown) activity_.leave = true;
    if (kind == MessageKind::farewell) leave_quietly();  // rank 0 sends no more, and receives no more
    if (kind == MessageKind::goodbye && !peers_->survives_losses()) peers_->has_left(from);
    if (kind == MessageKind::pause) activity_.pause = true;
    if (kind == MessageKind::lost) return on_lost(decode<Lost>(body));
    switch (kind) {
        case MessageKind::process: return processes_->meet(from, decode<ProcessId>(body));
        case MessageKind::heartbeat:
        case MessageKind::greeting: return;
        case MessageKind::offer: return transfers_->on_offer(from, decode<Offer>(body), now);
        case MessageKind::received: return transfers_->on_received(from, decode<Received>(body));
        case MessageKind::unreachable: return transfers_->on_unreachable(from, decode<Unreachable>(body), now);
        default: return deliver({from, kind, Bytes(body.begin(), body.end()), {}});
    }
}

void Courier::deliver(Incoming incoming) {
    incoming.arrived_s = monotonic_s();
    {
        std::lock_guard const lock(mutex_);
        inbox(desk_of(incoming.kind)).push_back(std::move(incoming));
    }
    wake_owner_.notify_all();
}

void Courier::beat(double now) {
    if (now < next_beat_) return;
    bool const first = next_beat_ == 0;
    next_beat_ = now + options_.heartbeat_s;
    {
        std::lock_guard const lock(mutex_);
        if (quiet_ || closing_) return;
    }
    if (first) tell_watchers(MessageKind::process, encode(processes_->self()));
    Heartbeat const heartbeat{activity_.batches,
                              activity_.flops,
                              TrialId(activity_.trial.load()),
                              activity_.epoch,
                              ShardId(activity_.shard.load()),
                              activity_.phase};
    tell_watchers(MessageKind::heartbeat, encode(heartbeat));
}

// The ranks that watch this one.
void Courier::tell_watchers(MessageKind kind, Bytes const& body) {
    if (world_.rank() != Rank(0)) return post(Rank(0), kind, body);
    for (int rank = 1; rank < world_.size(); ++rank)
        if (!peers_->is_buried(Rank(rank))) post(Rank(rank), kind, body);
}

void Courier::check_peers(double now) {
    for (auto const rank : processes_->ended(now)) peers_->has_ended(rank);
    for (auto const rank : world_.failed()) peers_->is_dead(rank);
    for (auto const& lost : peers_->newly_lost()) {
        if (world_.rank() != Rank(0)) throw SchedulerSilent(lost.why);
        if (!peers_->survives_losses()) throw CommError(lost.why);
        give_up(lost.rank, lost.why);
    }
}

}  // namespace hopscotch
