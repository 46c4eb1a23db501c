// SPDX-License-Identifier: Apache-2.0
#include "comm/peers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hopscotch {
namespace {

constexpr double k_nap_s = 0.5;

}  // namespace

void Peers::watch(Watch const& watch) {
    std::lock_guard const lock(mutex_);
    watch_ = watch;
    looked_ = clock_();
    for (auto& peer : peers_) peer.heard = peer.moved = looked_;
    watching_ = true;
}

void Peers::stop_watching() {
    std::lock_guard const lock(mutex_);
    watching_ = false;
}

double Peers::deadline_s() const {
    std::lock_guard const lock(mutex_);
    return watch_.deadline_s;
}

double Peers::stall_s() const {
    std::lock_guard const lock(mutex_);
    return watch_.stall_s;
}

void Peers::set_name(Rank rank, std::string name) {
    std::lock_guard const lock(mutex_);
    peers_[rank.index()].name = std::move(name);
}

std::string Peers::name(Rank rank) const {
    std::lock_guard const lock(mutex_);
    return name_of_peer(peers_[rank.index()], rank);
}

std::string Peers::name_of_peer(Peer const& peer, Rank rank) const {
    return peer.name.empty() ? fmt::format("rank {}", rank.value) : peer.name;
}

void Peers::heard_from(Rank rank) {
    std::lock_guard const lock(mutex_);
    peers_[rank.index()].heard = clock_();
}

void Peers::take(Rank rank, Heartbeat const& beat) {
    std::lock_guard const lock(mutex_);
    auto& peer = peers_[rank.index()];
    if (!peer.heartbeat || peer.heartbeat->batches != beat.batches) peer.moved = peer.heard;
    peer.heartbeat = beat;
    if (beat.trial.value >= 0) peer.last_work = beat;
}

void Peers::has_left(Rank rank) {
    std::lock_guard const lock(mutex_);
    peers_[rank.index()].left = true;
}

void Peers::is_dead(Rank rank) {
    std::lock_guard const lock(mutex_);
    peers_[rank.index()].dead = true;
}

void Peers::has_ended(Rank rank) {
    std::lock_guard const lock(mutex_);
    peers_[rank.index()].ended = true;
}

bool Peers::ended(Rank rank) const {
    std::lock_guard const lock(mutex_);
    return peers_[rank.index()].ended;
}

std::optional<Heartbeat> Peers::last_heartbeat(Rank rank) const {
    std::lock_guard const lock(mutex_);
    return peers_[rank.index()].heartbeat;
}

double Peers::job_still_s() const {
    std::lock_guard const lock(mutex_);
    return clock_() - peers_[0].moved;
}

void Peers::survive_losses() {
    std::lock_guard const lock(mutex_);
    surviving_ = true;
}

bool Peers::survives_losses() const {
    std::lock_guard const lock(mutex_);
    return surviving_;
}

std::vector<Lost> Peers::newly_lost() {
    std::lock_guard const lock(mutex_);
    std::vector<Lost> out;
    if (!watching_) return out;
    // If this process was itself stopped or starved, that time does not count as a peer's silence.
    auto const now = clock_();
    auto const slept_s = now - std::exchange(looked_, now);
    for (auto& peer : peers_) peer.heard += slept_s > k_nap_s ? slept_s : 0;
    bool const scheduler = self_ == Rank(0);
    auto const limit_s = std::min(watch_.silence_s, watch_.deadline_s);
    for (std::size_t i = scheduler ? 1 : 0; i < (scheduler ? peers_.size() : 1); ++i) {
        auto const& peer = peers_[i];
        auto const silent_s = now - peer.heard;
        bool const gone = !peer.left && (peer.dead || peer.ended || silent_s > limit_s);
        if (gone && !peer.given_up && !peer.buried) out.push_back({Rank(i), why(peer, Rank(i), silent_s)});
    }
    return out;
}

std::string Peers::why(Peer const& peer, Rank rank, double silent_s) const {
    auto const& last = peer.last_work;
    auto const at = last ? fmt::format("; it was last seen {} in trial {}, epoch {}, shard {}", name_of(last->phase),
                                       last->trial.value, last->epoch, last->shard.value)
                         : "";
    if (peer.dead) return fmt::format("{} is dead (MPI reports it){}", name_of_peer(peer, rank), at);
    if (peer.ended) return fmt::format("{} is lost: its process has ended{}", name_of_peer(peer, rank), at);
    return fmt::format(
        "{} has been silent for {:.0f} s (its process or host is gone, stopped or cut off{}); run.silence_s sets this limit",
        name_of_peer(peer, rank), silent_s, at);
}

bool Peers::give_up(Rank rank) {
    std::lock_guard const lock(mutex_);
    return !std::exchange(peers_[rank.index()].given_up, true);
}

bool Peers::bury(Rank rank) {
    std::lock_guard const lock(mutex_);
    return !std::exchange(peers_[rank.index()].buried, true);
}

bool Peers::is_buried(Rank rank) const {
    std::lock_guard const lock(mutex_);
    return peers_[rank.index()].buried;
}

bool Peers::is_lost(Rank rank) const {
    std::lock_guard const lock(mutex_);
    return peers_[rank.index()].given_up || peers_[rank.index()].buried;
}

std::vector<Rank> Peers::living() const {
    std::lock_guard const lock(mutex_);
    std::vector<Rank> out;
    for (std::size_t i = 1; i < peers_.size(); ++i)
        if (!peers_[i].given_up && !peers_[i].buried) out.emplace_back(i);
    return out;
}

}  // namespace hopscotch
