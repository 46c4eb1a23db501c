// SPDX-License-Identifier: Apache-2.0
#include "strategy/common/pump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "comm/courier_messages.hpp"
#include "comm/peers.hpp"
#include "core/clock.hpp"
#include "core/log.hpp"
#include "schedule/lap.hpp"
#include "strategy/common/dispatcher.hpp"
#include "strategy/common/lap_codec.hpp"
#include "strategy/common/lap_sink.hpp"
#include "strategy/common/messages.hpp"

namespace hopscotch {

constexpr double k_tick_s = 0.1;

Pump::Pump(Courier& courier, std::vector<std::string> hosts, double stall_s, std::unique_ptr<Dispatcher> dispatcher)
    : courier_(courier),
      hosts_(std::move(hosts)),
      stall_s_(stall_s),
      dispatcher_(std::move(dispatcher)),
      watch_(hosts_.size(), stall_s, monotonic_s()) {}

Pump::~Pump() = default;

std::optional<Setback> setback_in(Incoming const& message) {
    if (message.kind == MessageKind::fatal) throw CommError(decode<Fatal>(message.body).text);
    if (message.kind == MessageKind::damaged) return DamagedState{decode<Fatal>(message.body).text};
    if (message.kind == MessageKind::lost) {
        auto lost = decode<Lost>(message.body);
        return LostTrainer{lost.rank, std::move(lost.why)};
    }
    return std::nullopt;
}

std::optional<Setback> Pump::take(LapSink& sink, double timeout_s) {
    auto message = courier_.receive(timeout_s);
    check_stalls();
    if (auto const now_s = monotonic_s(); now_s >= next_tick_s_) {
        next_tick_s_ = now_s + k_tick_s;
        dispatcher_->tick();
    }
    if (!message) return std::nullopt;
    auto setback = setback_in(*message);
    if (!setback) give(sink, std::move(*message));
    return setback;
}

void Pump::give(LapSink& sink, Incoming message) {
    switch (message.kind) {
        case MessageKind::lap_done: return sink.lap_done(decode<LapRecord>(message.body));
        case MessageKind::checkpointed: {
            auto saved = decode<SavedState>(message.body);
            saved.trainer = trainer_of(message.from);
            return sink.saved(saved);
        }
        case MessageKind::settled:
        case MessageKind::paused: return hear(message.from, message.kind, decode<Pause>(message.body).round);
        case MessageKind::all_saved: {
            auto const saved = decode<AllSaved>(message.body);
            if (saved.unsaved > 0)
                log_warning(
                    fmt::format("rank {} could not save {} state(s); their progress since the last saved copies is lost",
                                message.from.value, saved.unsaved));
            return hear(message.from, message.kind, saved.round);
        }
        case MessageKind::state: return sink.fetched(std::move(message.state));
        case MessageKind::scored: return sink.scored(decode<LapRecord>(message.body));
        case MessageKind::analysed: return sink.analysed(decode<std::string>(message.body));
        default: return dispatcher_->hear(message);  // or an answer after its deadline
    }
}

void Pump::hear(Rank from, MessageKind kind, int round) {
    if (round == round_) heard_[kind].insert(from.value);
}

Pump::Answers Pump::hear_from_all(MessageKind kind, LapSink& sink, std::function<bool()> const& enough) {
    auto const all = [&] {
        return std::ranges::all_of(courier_.peers().living(), [&](Rank rank) { return heard_[kind].contains(rank.value); });
    };
    while (!all()) {
        if (enough()) return {};
        if (auto setback = take(sink, 0.05)) return {.all = false, .setback = std::move(setback)};
    }
    return {.all = true, .setback = {}};
}

Pump::Answers Pump::pause(LapSink& sink, double deadline_s) {
    auto const until_s = monotonic_s() + deadline_s;
    auto const too_late = [&] { return monotonic_s() >= until_s; };
    ++round_;
    heard_.clear();
    auto const tell_all = [&](MessageKind kind, Bytes const& body) {
        for (auto const rank : courier_.peers().living()) courier_.send(rank, kind, body);
    };
    tell_all(MessageKind::pause, encode(Pause{round_}));
    if (auto paused = hear_from_all(MessageKind::paused, sink, too_late); !paused.all) return paused;
    tell_all(MessageKind::save, encode(Save{round_, until_s - monotonic_s()}));
    return hear_from_all(MessageKind::all_saved, sink, too_late);
}

Pump::Answers Pump::settle(LapSink& sink, std::function<bool()> const& enough) {
    ++round_;
    heard_.clear();
    for (auto const rank : courier_.peers().living()) courier_.send(rank, MessageKind::settle, encode(Pause{round_}));
    return hear_from_all(MessageKind::settled, sink, enough);
}

int Pump::busy_trainers() const {
    int busy = 0;
    for (auto const rank : courier_.peers().living()) {
        auto const beat = courier_.peers().last_heartbeat(rank);
        busy += beat && beat->trial.value >= 0 ? 1 : 0;
    }
    return busy;
}

double Pump::flops_done() const {
    double flops = 0;
    for (int rank = 1; rank < courier_.world().size(); ++rank)
        if (auto const beat = courier_.peers().last_heartbeat(Rank(rank))) flops += beat->flops;
    return flops;
}

void Pump::check_stalls() {
    auto const now = monotonic_s();
    if (now < next_check_) return;
    next_check_ = now + std::min(1.0, stall_s_ / 4);
    std::vector<TrainerSign> signs(hosts_.size());
    std::uint64_t batches = 0;
    for (std::size_t i = 0; i < signs.size(); ++i) {
        Rank const rank(static_cast<int>(i) + 1);
        auto const beat = courier_.peers().last_heartbeat(rank);
        signs[i].lost = courier_.peers().is_lost(rank);
        signs[i].idle = !beat || beat->trial.value < 0;
        if (!beat) continue;
        signs[i].works = beat->phase == Phase::compute || beat->phase == Phase::validation;
        signs[i].batches = beat->batches;
        if (!signs[i].lost) batches += beat->batches;
    }
    courier_.activity().batches = batches;  // rank 0's heartbeat shows it to trainers that wait
    auto const stall = watch_.look(signs, now);
    if (!stall) return;
    Rank const rank(static_cast<int>(stall->trainer) + 1);
    auto const beat = courier_.peers().last_heartbeat(rank);
    auto const why = fmt::format(
        "rank {} ({}) finished no batch of trial {}, epoch {}, shard {} for {:.0f} s ({}); run.stall_s sets this limit",
        rank.value, hosts_[stall->trainer], beat->trial.value, beat->epoch, beat->shard.value, stall->seconds,
        name_of(beat->phase));
    if (!stall->hangs || !courier_.peers().survives_losses()) throw CommError(why);
    courier_.give_up(rank, why);
}

}  // namespace hopscotch
