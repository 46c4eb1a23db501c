// SPDX-License-Identifier: Apache-2.0
#include "scale/played_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "comm/courier_messages.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/hash.hpp"
#include "job/build_info.hpp"
#include "rundir/checkpoint.hpp"
#include "strategy/common/resources.hpp"

namespace hopscotch {
namespace {

constexpr double k_beat_s = 0.5;
constexpr int k_trainers_per_host = 8;
constexpr std::int64_t k_laps_at_once = 16;  // of one look: rank 0's courier takes all that there is
constexpr double k_unit_s = 0.05;

}  // namespace

std::uint64_t played_hash(TrialId trial, int epoch) {
    std::array<std::int64_t, 2> const place{trial.value, epoch};
    return xxh3(std::as_bytes(std::span(place))) | 1;  // 0 means: not known
}

PlayedWorld::PlayedWorld(Cast const& cast, std::function<void(std::int64_t)> lap_taken)
    : cast_(cast), lap_taken_(std::move(lap_taken)), trainers_(static_cast<std::size_t>(cast.trainers) + 1) {}

Request PlayedWorld::send(Rank to, int tag, ByteView bytes) {
    if (tag != 0 || std::ranges::find(failed_, to) != failed_.end()) return {};
    Decoder decoder(bytes);
    std::uint16_t version = 0;
    auto kind = MessageKind::test;
    decoder(version, kind);
    hear(to, kind, bytes.subspan(sizeof version + sizeof kind));
    return {};
}

Request PlayedWorld::receive(Rank, int tag, MutableBytes into) {
    if (tag == 0) {
        std::ranges::copy(messages_.front().bytes, into.begin());
        messages_.pop_front();
    } else {
        std::ranges::copy(ByteView(best_).first(into.size()), into.begin());
    }
    return {};
}

std::optional<Arrival> PlayedWorld::probe(int tag) {
    require(tag == 0, "control messages have tag 0");
    auto const now = monotonic_s();
    if (messages_.empty()) beat(now);
    if (messages_.empty()) work(now);
    if (messages_.empty()) return std::nullopt;
    return Arrival{messages_.front().from, messages_.front().bytes.size()};
}

void PlayedWorld::vanish() { std::_Exit(1); }

void PlayedWorld::abort(int exit_code) { std::_Exit(exit_code); }

void PlayedWorld::hear(Rank at, MessageKind kind, ByteView body) {
    auto& trainer = trainers_[static_cast<std::size_t>(at.value)];
    switch (kind) {
        case MessageKind::welcome:
            welcome_ = decode<Welcome>(body);
            trainer = {};
            return say_hello(at);
        case MessageKind::lap: return accept(at, decode<Lap>(body));
        case MessageKind::stop: {
            auto const trial = decode<TrialId>(body);
            if (trainer.done.erase(trial) > 0)
                std::erase_if(trainer.laps, [&](Lap const& lap) { return lap.trial == trial; });
            return;
        }
        case MessageKind::pause: trainer.paused = true; return say(at, MessageKind::paused, Bytes(body.begin(), body.end()));
        case MessageKind::save: return save_all(at, decode<Save>(body));
        case MessageKind::settle: return say(at, MessageKind::settled, Bytes(body.begin(), body.end()));
        case MessageKind::fetch_best: return push_best(at, decode<LapId>(body));
        case MessageKind::shutdown: return say_goodbye(at);
        default: return;  // heartbeats, farewells, news of the lost, keep
    }
}

void PlayedWorld::accept(Rank at, Lap lap) {
    auto const now = monotonic_s();
    if (!first_lap_s_) first_lap_s_ = began_s_ = next_lap_s_ = next_save_s_ = now;
    if (lost_s_ && !back_s_) back_s_ = now;
    auto& trainer = trainers_[static_cast<std::size_t>(at.value)];
    trainer.done.try_emplace(lap.trial, lap.epoch);
    trainer.laps.push_back(std::move(lap));
    busy_.push_back(at);
}

void PlayedWorld::say(Rank from, MessageKind kind, Bytes const& body) {
    Encoder encoder;
    auto version = k_protocol;
    encoder(version, kind);
    auto bytes = encoder.take();
    bytes.insert(bytes.end(), body.begin(), body.end());
    messages_.push_back({from, std::move(bytes)});
}

void PlayedWorld::say_hello(Rank from) {
    Hello hello;
    hello.host = fmt::format("host-{}", from.value / k_trainers_per_host);
    hello.build = build_info().version + " " + build_info().git;
    hello.torch = build_info().torch;
    hello.cpu = "played";
    hello.pid = from.value;
    hello.cores = k_trainers_per_host;
    hello.own_cores = {from.value % k_trainers_per_host};
    hello.memory_bytes = std::uint64_t{64} << 30;
    say(from, MessageKind::hello, encode(hello));
}

// The end of the last finished lap of a trial, in a real file.
void PlayedWorld::save(Rank at, TrialId trial) {
    auto const epochs = trainers_[static_cast<std::size_t>(at.value)].done.at(trial);
    if (epochs == 0) return;
    Checkpoint about;
    about.run_id = welcome_.checkpoints.run_id;
    about.place = {epochs, 0, 0};
    about.record.trial = trial;
    about.record.epoch = epochs;
    about.state_hash = played_hash(trial, epochs - 1);
    SavedState saved;
    saved.trial = trial;
    saved.epoch = epochs;
    saved.file = checkpoint_name(about, welcome_.checkpoints.incarnation);
    saved.state_hash = about.state_hash;
    auto const path = std::filesystem::path(welcome_.checkpoints.run_dir) / saved.file;
    std::filesystem::create_directories(path.parent_path());
    write_checkpoint(path, about, Bytes(welcome_.state_bytes));
    say(at, MessageKind::checkpointed, encode(saved));
    ++saved_;
}

void PlayedWorld::save_all(Rank at, Save const& asked) {
    std::set<TrialId> under_way;
    auto& trainer = trainers_[static_cast<std::size_t>(at.value)];
    for (auto const& lap : trainer.laps) under_way.insert(lap.trial);
    for (auto const trial : under_way) save(at, trial);
    trainer.laps.clear();
    say(at, MessageKind::all_saved, encode(AllSaved{asked.round, 0}));
}

// A trainer of mop tells the seconds of every hop to it.
void PlayedWorld::say_goodbye(Rank from) {
    Goodbye goodbye;
    for (int hop = 0; hop < 1000; ++hop) goodbye.hop_s.add(1e-5 * (1 + hop));
    say(from, MessageKind::goodbye, encode(goodbye));
}

void PlayedWorld::push_best(Rank from, LapId const& asked) {
    best_.assign(welcome_.state_bytes, std::byte{0});
    say(from, MessageKind::offer, encode(Offer{next_push_++, MessageKind::state, best_.size(), encode(asked)}));
}

void PlayedWorld::beat(double now) {
    if (now < next_beat_s_) return;
    next_beat_s_ = now + k_beat_s;
    for (int rank = 1; rank <= cast_.trainers; ++rank) {
        if (std::ranges::find(failed_, Rank(rank)) != failed_.end()) continue;
        auto const& trainer = trainers_[static_cast<std::size_t>(rank)];
        Heartbeat heartbeat{trainer.finished, static_cast<double>(trainer.finished), TrialId(-1), 0, ShardId(0),
                            Phase::compute};
        if (!trainer.laps.empty()) heartbeat.trial = trainer.laps.front().trial;
        say(Rank(rank), MessageKind::heartbeat, encode(heartbeat));
    }
}

void PlayedWorld::work(double now) {
    for (std::int64_t i = 0; i < k_laps_at_once && now >= next_lap_s_ && finish_next(); ++i)
        next_lap_s_ = std::max(next_lap_s_ + 1 / cast_.laps_per_s, now - 1);
}

// False if no lap waits.
bool PlayedWorld::finish_next() {
    while (!busy_.empty()) {
        auto const at = busy_.front();
        busy_.pop_front();
        auto& trainer = trainers_[static_cast<std::size_t>(at.value)];
        if (trainer.laps.empty() || trainer.paused || std::ranges::find(failed_, at) != failed_.end()) continue;
        auto const lap = std::move(trainer.laps.front());
        trainer.laps.pop_front();
        trainer.done[lap.trial] = lap.epoch + 1;
        ++trainer.finished;
        say(at, MessageKind::lap_done, encode(record_of(at, lap)));
        auto const now = monotonic_s();
        if (cast_.checkpoints_per_s > 0 && now >= next_save_s_) {
            next_save_s_ = std::max(next_save_s_, now - 1) + 1 / cast_.checkpoints_per_s;
            save(at, lap.trial);
        }
        lap_taken_(++finished_);
        if (finished_ == cast_.lose_after) kill(at);
        return true;
    }
    return false;
}

LapRecord PlayedWorld::record_of(Rank at, Lap const& lap) const {
    LapRecord out;
    out.trial = lap.trial;
    out.epoch = lap.epoch;
    out.attempt = lap.attempt;
    out.home = trainer_of(at);
    auto const now = unix_s();
    auto const shards = static_cast<int>(welcome_.owners.owner.size());
    for (int step = 0; step < shards; ++step) {
        int const shard = (static_cast<int>(lap.trial.value) + step) % shards;
        UnitRecord unit;
        unit.shard = ShardId(shard);
        unit.trainer = welcome_.owners.of(unit.shard);
        unit.rows = 1000;
        unit.loss_sum = 1000.0 / (1 + lap.epoch) + shard;
        unit.start_unix_s = now - k_unit_s * (shards - step);
        unit.seconds = k_unit_s * 0.9;
        unit.wait_s = step % 7 == 0 ? 0.001 : -1;
        unit.state_hash = played_hash(lap.trial, -1 - lap.epoch * shards - step);
        out.units.push_back(unit);
    }
    out.state.hash = out.units.back().state_hash;
    out.hops.count = shards;
    out.hops.bytes = shards * static_cast<std::int64_t>(welcome_.state_bytes);
    out.valid.rows = 1000;
    out.valid.loss = 1000.0 / (1 + lap.epoch) + std::sin(static_cast<double>(lap.trial.value));
    out.valid.correct = 500 + static_cast<double>((lap.trial.value * 37 + lap.epoch) % 400);
    out.valid.start_unix_s = now;
    out.valid.seconds = k_unit_s;
    out.state.lr = 0.1;
    out.state.begin_hash = lap.epoch == 0 ? 0 : played_hash(lap.trial, lap.epoch - 1);
    out.state.end_hash = played_hash(lap.trial, lap.epoch);
    out.state.bytes = welcome_.state_bytes;
    return out;
}

void PlayedWorld::kill(Rank rank) {
    failed_.push_back(rank);
    lost_s_ = monotonic_s();
    std::erase_if(messages_, [&](Message const& message) { return message.from == rank; });
}

}  // namespace hopscotch
