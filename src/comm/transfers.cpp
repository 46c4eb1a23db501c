// SPDX-License-Identifier: Apache-2.0
#include "comm/transfers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "comm/codec.hpp"
#include "comm/peers.hpp"
#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr int k_first_piece_tag = 1;                          // tag 0 is for control messages
constexpr std::uint64_t k_piece_tags = 30000;                 // MPI promises tags up to 32767
constexpr std::size_t k_turns = 2;                            // pushes of parameter servers at once
constexpr std::size_t k_window = 4;                           // pieces handed to the world at once
constexpr std::size_t k_made_at_once = std::size_t{4} << 20;  // bytes of memory, in 2 ms

// Ids of one sender count up, so transfers under way between two ranks differ in their tags.
int piece_tag(std::uint64_t id) { return k_first_piece_tag + static_cast<int>(id % k_piece_tags); }

Traffic traffic_of(MessageKind kind) {
    switch (kind) {
        case MessageKind::gradient:
        case MessageKind::parameters: return Traffic::gradient;
        case MessageKind::rows: return Traffic::data;
        default: return Traffic::state;
    }
}

}  // namespace

void Transfers::offer(Push push, double now) {
    if (traffic_of(push.kind) != Traffic::gradient) return start(std::move(push), now);
    waiting_.push_back(std::move(push));
    start_waiting(now);
}

void Transfers::start(Push push, double now) {
    Offer offer{next_id_++, push.kind, push.state.bytes().size(), std::move(push.header), {}};
    // States come round again; the memory of blocks that go one way only would pile up at one end.
    if (push.kind == MessageKind::state && !unreachable_.contains(push.to)) offer.memory = carrier_.pool->offer(push.state);
    carrier_.post(push.to, MessageKind::offer, encode(offer));
    Out out;
    out.to = push.to;
    out.kind = push.kind;
    out.state = std::move(push.state);
    out.memory_offered = static_cast<bool>(offer.memory);
    out.tag = piece_tag(offer.id);
    out.since = now;
    send_pieces(outgoing_.emplace(offer.id, std::move(out)).first->second, now);
}

void Transfers::start_waiting(double now) {
    while (!waiting_.empty()) {
        std::erase_if(turns_, [this](std::uint64_t id) {
            auto const under_way = outgoing_.find(id);
            return under_way == outgoing_.end() || under_way->second.all_out();
        });
        if (turns_.size() >= k_turns) return;
        int const size = carrier_.world.size();
        auto const distance = [&](Push const& push) { return (push.to.value - last_to_.value - 1 + size) % size; };
        auto const next = std::ranges::min_element(waiting_, {}, distance);
        last_to_ = next->to;
        turns_.push_back(next_id_);
        start(std::move(*next), now);
        waiting_.erase(next);
    }
}

Transfers::Memory Transfers::memory_for(BufferPool& pool, PieceOffer const& offered, std::size_t bytes) {
    if (offered)
        if (auto block = pool.adopt(offered, bytes)) return {std::move(block), true};
    return {pool.acquire(bytes), false};
}

// Memory that is not ready is made by a thread. 18 GB take ten seconds, in which this rank has to send heartbeats.
void Transfers::on_offer(Rank from, Offer offer, double now) {
    if (abandoned_) return;
    auto& in = incoming_.emplace_back();
    in.id = offer.id;
    in.message = {from, offer.kind, std::move(offer.header), {}};
    in.memory_offered = static_cast<bool>(offer.memory);
    in.since = now;
    auto const pool = carrier_.pool;
    auto ready = in.memory_offered ? pool->adopt_ready(offer.memory, offer.bytes) : pool->acquire_ready(offer.bytes);
    Memory memory{std::move(ready), in.memory_offered};
    if (!memory.block && offer.bytes <= k_made_at_once) memory = memory_for(*pool, offer.memory, offer.bytes);
    if (!memory.block) {
        in.memory = std::async(std::launch::async, [this, pool, offered = offer.memory, bytes = offer.bytes] {
            auto made = memory_for(*pool, offered, bytes);
            carrier_.look_soon();
            return made;
        });
    } else if (is_here(in, std::move(memory), now)) {
        incoming_.pop_back();
    }
}

// The posted receives are the consent: MPI holds pieces back until then. It depends on this rank's own progress only (it
// allocates if the pool is empty), so pushes never deadlock. True if no pieces need to come: the memory is this rank's now.
bool Transfers::is_here(In& in, Memory memory, double now) {
    auto const from = in.message.from;
    in.message.state = std::move(memory.block);
    in.since = now;
    if (memory.adopted) {
        acknowledge(in);
        return true;
    }
    if (in.memory_offered) carrier_.post(from, MessageKind::unreachable, encode(Unreachable{in.id}));
    auto const bytes = in.message.state.bytes();
    auto const most = carrier_.piece_bytes;
    for (std::size_t at = 0; at < bytes.size(); at += most)
        in.requests.push_back(
            carrier_.world.receive(from, piece_tag(in.id), bytes.subspan(at, std::min(most, bytes.size() - at))));
    return false;
}

void Transfers::acknowledge(In& in) {
    carrier_.post(in.message.from, MessageKind::received, encode(Received{in.id}));
    carrier_.deliver(std::move(in.message));
}

void Transfers::on_unreachable(Rank from, Unreachable const& unreachable, double now) {
    unreachable_.insert(from);
    auto const found = outgoing_.find(unreachable.id);
    if (abandoned_ || found == outgoing_.end()) return;
    found->second.memory_offered = false;
    send_pieces(found->second, now);
}

void Transfers::on_received(Rank from, Received const& received) {
    if (abandoned_) return;
    auto const found = outgoing_.find(received.id);
    require(found != outgoing_.end() && found->second.to == from, "Received for a transfer that does not exist");
    auto& out = found->second;
    // The peer's answer may come before our own requests have been tested: progress() frees the buffer when they are done. A
    // request that a peer's death has ruined is never done; bury() removes it.
    out.received = true;
    if (!out.memory_offered) return;
    carrier_.count(traffic_of(out.kind), out.state.bytes().size());
    carrier_.pool->hand_over(std::move(out.state));
    outgoing_.erase(found);
}

bool Transfers::send_pieces(Out& out, double now) {
    if (out.memory_offered) return false;
    bool moved = false;
    while (!out.requests.empty() && carrier_.world.done(out.requests.front())) {
        out.requests.pop_front();
        moved = true;
    }
    auto const bytes = out.state.bytes();
    while (out.next < bytes.size() && out.requests.size() < k_window) {
        auto const piece = bytes.subspan(out.next, std::min(carrier_.piece_bytes, bytes.size() - out.next));
        out.requests.push_back(carrier_.world.send(out.to, out.tag, piece));
        carrier_.count(traffic_of(out.kind), piece.size());
        out.next += piece.size();
        moved = true;
    }
    if (moved) out.since = now;
    return moved;
}

bool Transfers::progress(double now) {
    bool moved = false;
    for (auto& [id, out] : outgoing_) moved |= send_pieces(out, now);
    std::erase_if(outgoing_, [](auto const& entry) { return entry.second.received && entry.second.all_out(); });
    if (!waiting_.empty()) start_waiting(now);
    std::erase_if(incoming_, [&](In& in) { return take_pieces(in, now, moved); });
    return moved;
}

// True if the state is whole.
bool Transfers::take_pieces(In& in, double now, bool& moved) {
    if (in.memory.valid()) {
        if (in.memory.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
        moved = true;
        if (is_here(in, in.memory.get(), now)) return true;
    }
    while (!in.requests.empty() && carrier_.world.done(in.requests.front())) {
        in.requests.pop_front();
        in.since = now;
        moved = true;
    }
    if (!in.requests.empty()) return false;
    acknowledge(in);
    return moved = true;
}

// Memory that was offered may be another rank's by now. MPI may read the rest until its end.
void Transfers::let_go(Out out) {
    if (out.memory_offered)
        carrier_.pool->hand_over(std::move(out.state));
    else
        carrier_.world.keep(std::make_shared<Buffer>(std::move(out.state)));
}

// Without waiting for the thread that makes its memory.
void Transfers::let_go(In in) {
    if (in.memory.valid())
        being_made_.push_back(std::move(in));
    else
        carrier_.world.keep(std::make_shared<Buffer>(std::move(in.message.state)));
}

Transfers::~Transfers() {
    for (auto& [id, out] : outgoing_) let_go(std::move(out));
    for (auto& in : incoming_) let_go(std::move(in));
}

void Transfers::bury(Rank rank) {
    std::erase_if(waiting_, [&](Push const& push) { return push.to == rank; });
    for (auto out = outgoing_.begin(); out != outgoing_.end();) {
        if (out->second.to != rank) {
            ++out;
            continue;
        }
        let_go(std::move(out->second));
        out = outgoing_.erase(out);
    }
    for (auto in = incoming_.begin(); in != incoming_.end();) {
        if (in->message.from != rank) {
            ++in;
            continue;
        }
        let_go(std::move(*in));
        in = incoming_.erase(in);
    }
}

void Transfers::abandon() {
    abandoned_ = true;
    waiting_.clear();
    for (auto const& [id, out] : outgoing_)
        for (auto const request : out.requests) carrier_.world.cancel(request);
    for (auto const& in : incoming_)
        for (auto const request : in.requests) carrier_.world.cancel(request);
    for (auto& [id, out] : outgoing_) let_go(std::move(out));
    outgoing_.clear();
    for (auto& in : incoming_) let_go(std::move(in));
    incoming_.clear();
}

bool Transfers::nothing_leaves() const {
    return waiting_.empty() && std::ranges::all_of(outgoing_, [](auto const& entry) { return entry.second.received; });
}

bool Transfers::pieces_in_flight() const { return !incoming_.empty() || !outgoing_.empty(); }

void Transfers::check_deadlines(double now) const {
    auto const late = [&](double since) { return now - since > carrier_.peers.deadline_s(); };
    for (auto const& [id, out] : outgoing_)
        if (!out.received && late(out.since))
            throw CommError(fmt::format(
                "{} took no piece of a state for {:.0f} s (state of {} bytes, {} handed over); is that host alive and "
                "not stopped? run.deadline_s sets this limit",
                carrier_.peers.name(out.to), now - out.since, out.state.bytes().size(), out.next));
    for (auto const& in : incoming_)
        if (!in.memory.valid() && late(in.since))
            throw CommError(fmt::format("{} sent no piece of an offered state for {:.0f} s; run.deadline_s sets this limit",
                                        carrier_.peers.name(in.message.from), now - in.since));
}

}  // namespace hopscotch
