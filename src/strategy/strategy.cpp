// SPDX-License-Identifier: Apache-2.0
#include "strategy/strategy.hpp"

#include <fmt/format.h>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "strategy/allreduce.hpp"
#include "strategy/mop.hpp"
#include "strategy/sequential.hpp"

namespace hopscotch {

std::vector<StrategyEntry> const& strategies() {
    static std::vector<StrategyEntry> const table = {
        {"mop", "model hopper parallelism: the models visit the shards", true, make_mop},
        {"sequential", "one trainer, one trial after another: the reference of sequential equivalence", false,
         make_sequential},
        {"allreduce", "all trainers train each trial together, step by step, and all-reduce gradients", true, make_allreduce},
    };
    return table;
}

StrategyEntry const& strategy_named(std::string_view name) {
    std::string known;
    for (auto const& entry : strategies()) {
        if (entry.name == name) return entry;
        known += (known.empty() ? "" : ", ") + entry.name;
    }
    throw ConfigError(fmt::format("strategy \"{}\" is not available in this version (available: {})", name, known));
}

Pump::Pump(Courier& courier, std::vector<std::string> hosts, double stall_s)
    : courier_(courier), hosts_(std::move(hosts)), stall_s_(stall_s), progress_(hosts_.size()) {
    for (auto& progress : progress_) progress.since = monotonic_s();
}

void Pump::take(LapSink& sink, double timeout_s) {
    auto const message = courier_.receive(timeout_s);
    check_stalls();
    if (!message) return;
    switch (message->kind) {
        case MessageKind::lap_done:
            return sink.lap_done(decode<LapRecord>(message->body));
        case MessageKind::scored:
            return sink.scored(decode<LapRecord>(message->body));
        case MessageKind::fatal:
            throw CommError(decode<Fatal>(message->body).text);
        default:
            break;  // an answer that came too late to matter
    }
}

int Pump::busy_trainers() const {
    int busy = 0;
    for (int rank = 1; rank < courier_.world().size(); ++rank) {
        auto const beat = courier_.last_heartbeat(Rank(rank));
        busy += beat && beat->trial.value >= 0 ? 1 : 0;
    }
    return busy;
}

std::uint64_t Pump::units_done() const {
    std::uint64_t units = 0;
    for (int rank = 1; rank < courier_.world().size(); ++rank)
        if (auto const beat = courier_.last_heartbeat(Rank(rank))) units += beat->units;
    return units;
}

void Pump::check_stalls() {
    auto const now = monotonic_s();
    if (now < next_check_) return;
    next_check_ = now + std::min(1.0, stall_s_ / 4);
    for (std::size_t i = 0; i < progress_.size(); ++i) {
        auto const beat = courier_.last_heartbeat(Rank(static_cast<int>(i) + 1));
        bool const waiting = !beat || beat->trial.value < 0 || beat->batches != progress_[i].batches;
        if (waiting) progress_[i] = {beat ? beat->batches : 0, now};
        if (now - progress_[i].since <= stall_s_) continue;
        throw CommError(fmt::format(
            "rank {} ({}) finished no batch of trial {}, epoch {}, shard {} for {:.0f} s; run.stall_s sets this limit",
            i + 1, hosts_[i], beat->trial.value, beat->epoch, beat->shard.value, now - progress_[i].since));
    }
}

}  // namespace hopscotch
