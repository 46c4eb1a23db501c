// SPDX-License-Identifier: Apache-2.0
#include "strategy/trainer/trainer_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm/codec.hpp"
#include "comm/courier.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "data/batches/row_block.hpp"
#include "data/dataset/manifest.hpp"
#include "strategy/common/lap_codec.hpp"
#include "strategy/common/messages.hpp"
#include "strategy/common/placement.hpp"
#include "strategy/common/roll_call_messages.hpp"
#include "strategy/trainer/best_snapshot.hpp"
#include "strategy/trainer/cpu_watch.hpp"
#include "strategy/trainer/gpu_watch.hpp"
#include "strategy/trainer/job_ended.hpp"
#include "strategy/trainer/state_file.hpp"
#include "strategy/trainer/state_store.hpp"
#include "strategy/trainer/trial_failure.hpp"
#include "strategy/trainer/trial_runner.hpp"

namespace hopscotch {
namespace {

constexpr double k_pausing_s = 0.005;  // between looks at the states that are on their way out
constexpr double k_full_s = 0.01;      // between looks for room in memory

}  // namespace

TrainerLoop::TrainerLoop(WorkerResources const& resources, StateKeeper::Holds holds, double idle_wait_s)
    : resources_(resources),
      keeper_(resources_, holds),
      cpu_watch_(std::make_unique<CpuWatch>(resources_.runner.device())),
      idle_wait_s_(idle_wait_s) {}

TrainerLoop::~TrainerLoop() = default;

TrainerLoop::UnitStart TrainerLoop::start_unit() { return {monotonic_s(), unix_s(), cpu_watch_->begin()}; }

BufferPool& TrainerLoop::pool() const { return courier().pool(); }

bool TrainerLoop::paused() const { return courier().activity().pause; }

std::optional<Welcome> TrainerLoop::serve() {
    while (true) {
        if (!may_work()) courier().activity().trial = -1;
        keeper_.save_one_at_rest();
        try {
            while (auto message = next_message()) {
                if (message->kind == MessageKind::shutdown) {
                    say_goodbye();
                    return std::nullopt;
                }
                if (message->kind == MessageKind::welcome) return decode<Welcome>(message->body);
                answer(std::move(*message));
            }
            if (may_work() && keeper_.store().has_room()) work();
            runner().require_device();
            if (paused()) say_paused();
        } catch (JobEnded const&) {
            courier().activity().trial = -1;  // the reason is in the inbox
        }
    }
}

std::optional<Incoming> TrainerLoop::next_message() {
    bool const hurries = paused() && pause_round_;
    if (set_aside_.empty() && may_work()) return courier().receive(keeper_.store().has_room() ? 0 : k_full_s);
    if (set_aside_.empty()) return courier().receive(hurries ? k_pausing_s : idle_wait_s_);
    auto first = std::move(set_aside_.front());
    set_aside_.pop_front();
    return first;
}

void TrainerLoop::answer(Incoming message) {
    switch (message.kind) {
        case MessageKind::fetch_best: return answer_fetch(decode<LapId>(message.body));
        case MessageKind::score_best: return answer_score(decode<Lap>(message.body));
        case MessageKind::analyse_best: return answer_analyse(decode<Lap>(message.body));
        case MessageKind::pause:
            courier().activity().pause = true;
            pause_round_ = decode<Pause>(message.body).round;
            return;
        case MessageKind::settle: return courier().send(Rank(0), MessageKind::settled, message.body);
        case MessageKind::save: return answer_save(decode<Save>(message.body));
        case MessageKind::leave: return answer_leave(decode<Leave>(message.body));
        case MessageKind::keep: return keeper_.keep_end(decode<LapId>(message.body));
        case MessageKind::stop: return answer_stop(decode<TrialId>(message.body));
        default: handle(std::move(message));
    }
}

void TrainerLoop::answer_stop(TrialId trial) {
    drop(trial);
    keeper_.forget(trial);
    runner().forget(trial);
}

void TrainerLoop::answer_fetch(LapId const& asked) {
    fault_point("end.fetch");
    if (!keeper_.best().holds(asked))
        throw Error(fmt::format("the snapshot of trial {}, epoch {} is not on trainer {}", asked.trial.value, asked.epoch,
                                runner().self().value));
    auto snapshot = keeper_.best().copy(pool());
    fetched_bytes_ += snapshot.bytes().size();
    courier().push(Rank(0), encode(asked), std::move(snapshot));
}

Buffer TrainerLoop::best_state(Lap const& asked) {
    bool const from_file = !asked.from.empty();
    require(from_file || keeper_.best().holds({asked.trial, asked.epoch}),
            "the snapshot that is asked for is on another trainer");
    busy_with(asked, ShardId(-1), Phase::validation);
    Journey behind;  // in a file the end of that epoch is the beginning of the next
    behind.lap = asked;
    ++behind.lap.epoch;
    return from_file ? load_state(resources_, behind) : keeper_.best().copy(pool());
}

void TrainerLoop::answer_score(Lap const& asked) {
    auto const snapshot = best_state(asked);
    auto const record = runner().score_test(asked, snapshot.bytes(), &courier().activity());
    courier().send(Rank(0), MessageKind::scored, encode(record));
}

void TrainerLoop::answer_analyse(Lap const& asked) {
    auto const snapshot = best_state(asked);
    auto const errors = runner().errors_on_validation(asked, snapshot.bytes(), &courier().activity());
    courier().send(Rank(0), MessageKind::analysed, encode(errors));
}

void TrainerLoop::answer_leave(Leave const& asked) {
    left_[asked.trial] = asked.why;
    leave_waiting(asked.trial);
}

void TrainerLoop::answer_save(Save const& asked) {
    fault_point("pause.save");
    AllSaved const answer{asked.round, keeper_.save_all(asked.deadline_s, [this] { save_queued(); })};
    courier().send(Rank(0), MessageKind::all_saved, encode(answer));
}

// Only when no state is on its way out: then the receiver has the state, and will save it.
void TrainerLoop::say_paused() {
    if (pause_round_) settle();
    if (!pause_round_ || may_work() || !courier().pushes_delivered()) return;
    courier().send(Rank(0), MessageKind::paused, encode(Pause{*std::exchange(pause_round_, std::nullopt)}));
}

void TrainerLoop::busy_with(Lap const& lap, ShardId shard, Phase phase) {
    auto& activity = courier().activity();
    activity.epoch = lap.epoch;
    activity.shard = shard.value;
    activity.phase = phase;
    activity.trial = lap.trial.value;
}

void TrainerLoop::begin_unit(Journey& journey) {
    fault_point("unit.begin");
    busy_with(journey.lap, runner().shard_of(journey), Phase::compute);
    if (!journey.saved.at_s) journey.saved.at_s = monotonic_s();
}

void TrainerLoop::train(Journey& journey, MutableBytes state, UnitStart const& start, UnitHash hash) {
    auto& units = journey.record.units;
    auto const before = units.size();
    auto const gpu = resources_.gpu_watch.now();
    begin_unit(journey);
    TrialRunner::OnTheWay const on_the_way{[&] {
                                               between_updates();
                                               return keeper_.saves() && keeper_.is_due(journey);
                                           },
                                           [&] {
                                               keeper_.save(journey, state);
                                               if (paused()) throw Paused{};
                                           }};
    runner().run_unit(journey, state, &courier().activity(), &on_the_way, hash);
    if (units.size() > before) {
        auto& unit = units.back();
        unit.cpu_s = CpuWatch::since(start.cpu);
        unit.seconds = monotonic_s() - start.s;
        unit.start_unix_s = start.unix_s;
        unit.gpu_use = resources_.gpu_watch.share_since(gpu);
    }
    journey.saved.here = false;
    courier().activity().flops += journey.lap.unit_cost;
}

bool TrainerLoop::validate(Journey& journey, MutableBytes state) {
    busy_with(journey.lap, ShardId(-1), Phase::validation);
    return runner().run_validation_piece(journey, state, &courier().activity());
}

void TrainerLoop::finish(Journey& journey, ByteView state) {
    journey.record.state.bytes = state.size();
    auto const start = monotonic_s();
    if (journey.record.outcome == Outcome::finished) keeper_.end(journey, state);
    journey.record.valid.seconds += monotonic_s() - start;  // the copy of the best state is the last part of validation
    fault_point("lap.done");
    courier().send(Rank(0), MessageKind::lap_done, encode(journey.record));
}

void TrainerLoop::fail(Journey& journey, std::exception const& error) {
    journey.record.outcome = Outcome::failed;
    journey.record.cause = cause_of(error);
    journey.record.reason = fmt::format("epoch {} on trainer {} ({}): {}", journey.lap.epoch, runner().self().value,
                                        host_name(), words_of(error));
}

TrainerLoop::News TrainerLoop::news_of(TrialId trial) {
    while (auto message = courier().receive(0)) set_aside(std::move(*message));
    bool forgotten = false;
    for (auto const& message : set_aside_) {
        if (message.kind == MessageKind::stop) forgotten |= decode<TrialId>(message.body) == trial;
        if (message.kind != MessageKind::leave) continue;
        if (auto asked = decode<Leave>(message.body); asked.trial == trial) left_[trial] = asked.why;
    }
    return left_.contains(trial) ? News::leave : forgotten ? News::forget : News::none;
}

std::string const* TrainerLoop::left_why(TrialId trial) const {
    auto const found = left_.find(trial);
    return found == left_.end() ? nullptr : &found->second;
}

void TrainerLoop::end_left(Journey& journey, ByteView state) {
    if (!state.empty()) keeper_.save_left(journey, state);
    journey.record.outcome = Outcome::stopped;
    journey.record.reason = left_.at(journey.lap.trial);
    finish(journey, {});
}

namespace {

// Training rows of this trainer's own shards, in memory or in files.
std::uint64_t own_bytes(WorkerResources const& resources) {
    auto const& manifest = resources.runner.manifest();
    std::uint64_t bytes = 0;
    for (auto const shard : resources.owners.shards_of(resources.runner.self()))
        bytes += static_cast<std::uint64_t>(manifest.train.at(shard.index()).rows) * stored_row_bytes(manifest);
    return bytes;
}

}  // namespace

void TrainerLoop::say_goodbye() {
    fault_point("end.goodbye");
    settle();
    keeper_.stop_saving();  // nothing is written after the last message
    Goodbye goodbye;
    add_totals(goodbye);
    goodbye.bytes.clear();
    for (auto const traffic : {Traffic::state, Traffic::gradient, Traffic::data, Traffic::control})
        goodbye.bytes.push_back(courier().bytes_sent(traffic));
    // A result on its way to rank 0 is not a hop: bytes.state is exactly hops x state size.
    auto& state_bytes = goodbye.bytes[static_cast<std::size_t>(Traffic::state)];
    auto const fetched = std::min(fetched_bytes_, state_bytes);
    state_bytes -= fetched;
    goodbye.bytes[static_cast<std::size_t>(Traffic::data)] += fetched;
    goodbye.peak_rss_bytes = peak_rss_bytes();
    goodbye.spilled_bytes = keeper_.store().written_bytes();
    goodbye.storage_bytes = own_bytes(resources_) + goodbye.staged_bytes;
    courier().send(Rank(0), MessageKind::goodbye, encode(goodbye));
}

std::string unexpected(MessageKind kind) {
    return fmt::format("unexpected message \"{}\" (sent by another version?); start every rank from one build",
                       name_of(kind));
}

}  // namespace hopscotch
