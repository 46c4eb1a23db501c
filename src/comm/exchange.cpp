// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange.hpp"

#include <algorithm>
#include <set>

namespace hopscotch {
namespace {

constexpr int k_first_tag = 30100;  // after the tags of pieces (transfers.cpp); MPI promises tags up to 32767
constexpr std::uint64_t k_tags = 800;

}  // namespace

Exchange::Exchange(Plan plan, std::uint64_t sequence)
    : plan_(std::move(plan)), tag_(k_first_tag + static_cast<int>(sequence % k_tags)) {
    for (auto const& round : plan_.rounds) {
        for (auto const& send : round.sends) bytes_ += send.bytes.size();
        for (auto const& receive : round.receives) bytes_ += receive.into.size();
    }
}

// Posts receives first: an expected message needs no copy when it comes.
void Exchange::begin_round(World& world) {
    auto const& round = plan_.rounds[next_round_];
    for (auto const& receive : round.receives)
        if (!receive.into.empty()) open_.push_back({receive.from, world.receive(receive.from, tag_, receive.into)});
    for (auto const& send : round.sends) {
        if (send.bytes.empty()) continue;
        open_.push_back({send.to, world.send(send.to, tag_, send.bytes)});
        bytes_sent_ += send.bytes.size();
        ++messages_sent_;
    }
    in_round_ = true;
}

bool Exchange::progress(World& world) {
    bool moved = false;
    while (next_round_ < plan_.rounds.size()) {
        if (!in_round_) begin_round(world);
        auto const before = open_.size();
        std::erase_if(open_, [&](Open const& open) { return world.done(open.request); });
        moved |= open_.size() != before;
        if (!open_.empty()) return moved;
        if (auto const& then = plan_.rounds[next_round_].then) then();
        in_round_ = false;
        ++next_round_;
        moved = true;
    }
    return moved;
}

void Exchanges::start(std::shared_ptr<Exchange> exchange, World& world, double now) {
    exchange->since_ = now;
    exchange->progress(world);
    active_.push_back(std::move(exchange));
}

bool Exchanges::progress(World& world, double now, std::atomic<std::uint64_t>* sent_by_traffic) {
    bool moved = false;
    for (auto& exchange : active_) {
        if (exchange->progress(world)) {
            exchange->since_ = now;
            moved = true;
        }
        if (exchange->next_round_ < exchange->plan_.rounds.size()) continue;
        sent_by_traffic[static_cast<std::size_t>(exchange->plan_.traffic)] += exchange->bytes_sent_;
        exchange->finished_.store(true, std::memory_order_release);
        exchange = nullptr;
        moved = true;
    }
    std::erase(active_, nullptr);
    return moved;
}

Exchanges::LongestWait Exchanges::longest_wait(double now) const {
    LongestWait out;
    for (auto const& exchange : active_) {
        if (now - exchange->since_ <= out.seconds) continue;
        std::set<Rank> peers;
        for (auto const& open : exchange->open_) peers.insert(open.peer);
        out = {exchange->what(), {peers.begin(), peers.end()}, now - exchange->since_};
    }
    return out;
}

void Exchanges::abandon(World& world) {
    for (auto const& exchange : active_) {
        for (auto const& open : exchange->open_) world.cancel(open.request);
        world.keep(exchange);
    }
    active_.clear();
}

}  // namespace hopscotch
