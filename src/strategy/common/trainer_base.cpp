// SPDX-License-Identifier: Apache-2.0
#include "strategy/common/trainer_base.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "data/batches/row_block.hpp"
#include "schedule/policy.hpp"
#include "search/search.hpp"
#include "strategy/common/pump.hpp"

namespace hopscotch {
namespace {

constexpr double k_pausing_s = 0.005;  // between looks at what is on its way out

}  // namespace

TrainerBase::TrainerBase(Resources resources)
    : resources_(std::move(resources)), best_(resources_.experiment.search.metric, resources_.experiment.search.mode) {
    if (resources_.runner == nullptr) return;
    search_clones_ = procedure_clones(resources_.experiment.search.procedure);
    auto const& run = resources_.experiment.run;
    std::filesystem::path const dir = resources_.checkpoints.run_dir;
    auto const& spill = !run.spill.empty() ? std::filesystem::path(run.spill)
                        : dir.empty()      ? std::filesystem::temp_directory_path()
                                           : dir / "checkpoints";
    std::error_code told_when_it_is_needed;
    if (!run.spill.empty()) std::filesystem::create_directories(spill, told_when_it_is_needed);
    store_.emplace(resources_.courier.pool(), state_memory(run.state_memory, resources_.courier.world().trainers_on_host()),
                   spill);
    if (dir.empty()) return;
    checkpointer_.emplace(resources_.checkpoints, resources_.courier.pool(), [this](Checkpointed const& saved) {
        resources_.courier.send(Rank(0), MessageKind::checkpointed, encode(saved));
    });
}

void TrainerBase::forget(TrialId trial) {
    for (auto const rank : resources_.courier.peers().living())
        resources_.courier.send(rank, MessageKind::stop, encode(TrialMessage{trial, 0}));
}

void TrainerBase::leave(TrialId trial, std::string const& why) {
    for (auto const rank : resources_.courier.peers().living())
        resources_.courier.send(rank, MessageKind::leave, encode(Leave{trial, why}));
}

void TrainerBase::keep_end(TrialId trial, int epoch) {
    for (auto const rank : resources_.courier.peers().living())
        resources_.courier.send(rank, MessageKind::keep, encode(TrialMessage{trial, epoch}));
}

Buffer TrainerBase::fetch_best(TrialId trial, int epoch, TrainerId home) {
    auto const deadline = monotonic_s() + resources_.experiment.run.deadline_s;
    resources_.courier.send(rank_of(home), MessageKind::fetch_best, encode(TrialMessage{trial, epoch}));
    while (monotonic_s() < deadline) {
        auto message = resources_.courier.receive(0.1);
        if (message) throw_bad_news(*message);
        if (message && message->kind == MessageKind::state) return std::move(message->state);
    }
    throw CommError(fmt::format("rank {} did not send the best model of trial {} within {:.0f} s", rank_of(home).value,
                                trial.value, resources_.experiment.run.deadline_s));
}

void TrainerBase::score_best(Lap const& lap, TrainerId home) {
    resources_.courier.send(rank_of(home), MessageKind::score_best, encode(lap));
}

std::optional<Incoming> TrainerBase::next_message() {
    bool const hurries = paused() && pause_round_;
    if (postponed_.empty()) return resources_.courier.receive(may_work() ? 0 : hurries ? k_pausing_s : idle_wait_s());
    auto first = std::move(postponed_.front());
    postponed_.pop_front();
    return first;
}

void TrainerBase::busy_with(Lap const& lap, ShardId shard, Phase phase) {
    auto& activity = resources_.courier.activity();
    activity.epoch = lap.epoch;
    activity.shard = shard.value;
    activity.phase = phase;
    activity.trial = lap.trial.value;
}

std::optional<Welcome> TrainerBase::serve() {
    while (true) {
        if (!may_work()) resources_.courier.activity().trial = -1;
        save_one_at_rest();
        try {
            while (auto message = next_message()) {
                if (message->kind == MessageKind::shutdown) {
                    say_goodbye();
                    return std::nullopt;
                }
                if (message->kind == MessageKind::welcome) return decode<Welcome>(message->body);
                answer(std::move(*message));
            }
            if (may_work()) work();
            if (resources_.runner != nullptr) resources_.runner->require_device();
            if (paused()) say_paused();
        } catch (JobEnded const&) {
            resources_.courier.activity().trial = -1;  // why is in the inbox
        }
    }
}

void TrainerBase::answer(Incoming message) {
    switch (message.kind) {
        case MessageKind::fetch_best: return answer_fetch(decode<TrialMessage>(message.body));
        case MessageKind::score_best: return answer_score(decode<Lap>(message.body));
        case MessageKind::pause:
            resources_.courier.activity().pause = true;
            pause_round_ = decode<Pause>(message.body).round;
            return;
        case MessageKind::settle: return resources_.courier.send(Rank(0), MessageKind::settled, message.body);
        case MessageKind::save: return answer_save(decode<Save>(message.body));
        case MessageKind::leave: return answer_leave(decode<Leave>(message.body));
        case MessageKind::keep: return answer_keep(decode<TrialMessage>(message.body));
        case MessageKind::stop: {
            auto const trial = decode<TrialMessage>(message.body).trial;
            drop(trial);
            resting_.erase(trial);
            return resources_.runner->forget(trial);
        }
        default: handle(std::move(message));
    }
}

void TrainerBase::answer_fetch(TrialMessage const& asked) {
    if (!best_.holds(asked.trial, asked.epoch))
        throw Error(fmt::format("the snapshot of trial {}, epoch {} is not on trainer {}", asked.trial.value, asked.epoch,
                                resources_.runner->self().value));
    auto snapshot = best_.copy(resources_.courier.pool());
    fetched_bytes_ += snapshot.bytes().size();
    resources_.courier.push(Rank(0), encode(asked), std::move(snapshot));
}

void TrainerBase::answer_score(Lap const& asked) {
    bool const from_file = !asked.from.empty();
    require(from_file || best_.holds(asked.trial, asked.epoch), "the snapshot to be scored is on another trainer");
    auto& activity = resources_.courier.activity();
    busy_with(asked, ShardId(-1), Phase::validation);
    Journey behind;  // in a file that epoch is the beginning of the next
    behind.lap = asked;
    ++behind.lap.epoch;
    auto snapshot = from_file ? load(behind) : best_.copy(resources_.courier.pool());
    auto const record = resources_.runner->score_test(asked, snapshot.bytes(), &activity);
    resources_.courier.send(Rank(0), MessageKind::scored, encode(record));
}

Journey TrainerBase::begin(Lap const& lap) {
    Journey journey;
    journey.lap = lap;
    journey.record.trial = lap.trial;
    journey.record.epoch = lap.epoch;
    journey.record.attempt = lap.attempt;
    journey.record.home = home_of(lap);
    journey.record.units.reserve(static_cast<std::size_t>(resources_.runner->shards()));
    if (auto const rested = resting_.extract(lap.trial)) {
        journey.saved_unix_s = rested.mapped().saved_unix_s;
        journey.saved = rested.mapped().saved;
        journey.record.begin_hash = rested.mapped().record.begin_hash;
    }
    return journey;
}

void TrainerBase::balance(std::deque<Lap> const& laps, States const& states) {
    if (!store().crowded()) return;
    std::vector<WaitingState const*> order;
    std::set<TrialId> seen;
    for (auto const& lap : laps)
        if (auto const state = states.find(lap.trial); state != states.end() && seen.insert(lap.trial).second)
            order.push_back(&state->second);
    for (auto const& [trial, state] : states)
        if (!seen.contains(trial)) order.push_back(&state);
    store().balance(order);
}

TrainerId TrainerBase::home_of(Lap const& lap) const {
    auto const shards = static_cast<int>(resources_.owners.owner.size());
    auto const& policy = policy_named(resources_.experiment.strategy.policy);
    auto const held_out = held_out_of(lap.assignment, resources_.experiment.search.folds);
    return resources_.owners.of(policy.next({lap.trial, 0, shards, held_out}));
}

void TrainerBase::finish(Journey& journey, MutableBytes state) {
    journey.record.state_bytes = state.size();
    auto const start = monotonic_s();
    if (journey.record.outcome == Outcome::finished) {
        auto const before = std::pair(best_.trial(), best_.epoch());
        best_.consider(journey.record, loss_of(resources_.experiment, journey.lap.assignment), state,
                       resources_.courier.pool());
        if (checkpointer_ && before != std::pair(best_.trial(), best_.epoch())) {
            best_unsaved_ = true;
            best_layout_ = resources_.runner->layout(journey.lap).hash();
            best_hash_ = journey.record.end_hash;
        }
        keep_boundary(journey, state);
        rest(journey, state);
    }
    journey.record.valid_seconds += monotonic_s() - start;  // keeping a snapshot is the last part of validation
    fault_point("lap.done");
    resources_.courier.send(Rank(0), MessageKind::lap_done, encode(journey.record));
}

void TrainerBase::train(Journey& journey, MutableBytes state) {
    auto& activity = resources_.courier.activity();
    fault_point("unit.begin");
    busy_with(journey.lap, resources_.runner->shard_of(journey.lap, journey.step), Phase::compute);
    if (journey.saved_unix_s == 0) journey.saved_unix_s = unix_s();
    TrialRunner::OnTheWay const on_the_way{[&] { return save_is_due(journey); },
                                           [&] {
                                               save(journey, state);
                                               if (paused()) throw Paused{};
                                           }};
    resources_.runner->run_unit(journey, state, &activity, checkpointer_ ? &on_the_way : nullptr);
    journey.saved = false;
    ++activity.units;
}

bool TrainerBase::validate(Journey& journey, MutableBytes state) {
    busy_with(journey.lap, ShardId(-1), Phase::validation);
    return resources_.runner->run_validation_piece(journey, state, &resources_.courier.activity());
}

// Training rows of this trainer's own shards, in memory or in files.
std::uint64_t TrainerBase::own_bytes() const {
    auto const& manifest = resources_.runner->manifest();
    std::uint64_t bytes = 0;
    for (auto const shard : resources_.owners.shards_of(resources_.runner->self()))
        bytes += static_cast<std::uint64_t>(manifest.train.at(shard.index()).rows) * stored_row_bytes(manifest);
    return bytes;
}

void TrainerBase::say_goodbye() {
    fault_point("end.goodbye");
    auto& courier = resources_.courier;
    checkpointer_.reset();  // after the last word nothing is written any more
    Goodbye goodbye;
    goodbye.bytes.clear();
    for (auto const traffic : {Traffic::state, Traffic::gradient, Traffic::data, Traffic::control})
        goodbye.bytes.push_back(courier.bytes_sent(traffic));
    // A result on its way to rank 0 is no hop: bytes.state is exactly hops x state size.
    auto const fetched = std::min(fetched_bytes_, goodbye.bytes[static_cast<std::size_t>(Traffic::state)]);
    goodbye.bytes[static_cast<std::size_t>(Traffic::state)] -= fetched;
    goodbye.bytes[static_cast<std::size_t>(Traffic::data)] += fetched;
    goodbye.peak_rss_bytes = peak_rss_bytes();
    goodbye.hop_s = std::move(hop_s_);
    goodbye.staged_bytes = staged_bytes_;
    goodbye.spilled_bytes = store_->written_bytes();
    goodbye.storage_bytes = own_bytes() + staged_bytes_;
    courier.send(Rank(0), MessageKind::goodbye, encode(goodbye));
}

std::uint64_t peak_rss_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace hopscotch
