// SPDX-License-Identifier: Apache-2.0
// When a trainer saves what, and how a trial goes on from a file: the same for every strategy.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/hash.hpp"
#include "run/tally.hpp"
#include "strategy/common/trainer_base.hpp"

namespace hopscotch {
namespace {

constexpr double k_look_s = 0.1;  // between looks at states that rest

}  // namespace

void TrainerBase::save_if_due(Journey& journey, ByteView state) {
    if (journey.saved_unix_s == 0) journey.saved_unix_s = unix_s();
    if (!checkpointer_ || !state_is_whole()) return;
    if (!journey.saved && (checkpointer_->due(journey.saved_unix_s) || paused())) save(journey, state);
    if (paused()) throw Paused{};
}

void TrainerBase::save(Journey& journey, ByteView state) {
    save_best();
    auto const saved_before = std::exchange(journey.saved_unix_s, unix_s());
    journey.saved = true;
    // A file is named by the lap that has made its state: with what a clone begins is in the file of its source's lap.
    if (journey.lap.clone_of && journey.step == 0 && journey.batches == 0) return;
    auto const& layout = resources_.runner->layout(journey.lap);
    Checkpoint about;
    about.place = {journey.lap.epoch, journey.step, journey.batches};
    about.record = journey.record;
    about.record.valid_seconds = 0;  // a validation under way begins anew
    about.rows = journey.rows;
    about.loss_sum = journey.loss_sum;
    about.layout_hash = layout.hash();
    about.state_hash = state_hash(state, layout);
    about.parts = journey.parts;
    checkpointer_->save(std::move(about), state, saved_before);
}

// Once nothing is on its way out: whoever gets it has it then, and will save it.
void TrainerBase::say_paused() {
    if (!pause_round_ || may_work() || !resources_.courier.pushes_delivered()) return;
    resources_.courier.send(Rank(0), MessageKind::paused, encode(Pause{*std::exchange(pause_round_, std::nullopt)}));
}

void TrainerBase::answer_save(Save const& asked) {
    fault_point("pause.save");
    AllSaved answer{asked.round};
    if (checkpointer_) {
        save_until_s_ = monotonic_s() + asked.deadline_s;
        save_best();
        save_all();
        answer.unsaved = checkpointer_->drain(save_until_s_ - monotonic_s());
    }
    resources_.courier.send(Rank(0), MessageKind::all_saved, encode(answer));
}

// One after another, since each waits in memory a second time until it is written.
void TrainerBase::save_waiting(Journey& journey, WaitingState const& state) {
    if (journey.saved || !state_is_whole() || !state) return;
    store().look(state, [&](ByteView bytes) { save(journey, bytes); });
    checkpointer_->drain(save_until_s_ - monotonic_s());
}

void TrainerBase::save_resting() {
    for (auto& [trial, journey] : resting_)
        if (auto const* state = state_at_rest(trial)) save_waiting(journey, *state);
}

// A trial that is paused for long grows old here.
void TrainerBase::save_one_at_rest() {
    if (!checkpointer_ || paused() || monotonic_s() < next_look_s_) return;
    next_look_s_ = monotonic_s() + k_look_s;
    for (auto& [trial, journey] : resting_) {
        auto const* state = state_at_rest(trial);
        if (journey.saved || state == nullptr || !*state || !state_is_whole() || !checkpointer_->due(journey.saved_unix_s))
            continue;
        return store().look(*state, [&](ByteView bytes) { save(journey, bytes); });
    }
}

// Between laps: the place is the beginning of the next one.
void TrainerBase::rest(Journey const& done, ByteView state) {
    Journey next;
    next.lap = done.lap;
    ++next.lap.epoch;
    next.record.trial = next.lap.trial;
    next.record.epoch = next.lap.epoch;
    next.record.begin_hash = done.record.end_hash;
    next.lap.from.clear();
    next.lap.clone_of.reset();
    next.saved_unix_s = done.saved_unix_s;
    if (checkpointer_ && state_is_whole() && checkpointer_->due(next.saved_unix_s)) save(next, state);
    resting_.insert_or_assign(next.lap.trial, std::move(next));
}

// A run that goes on after the best epoch of all must find that state too.
void TrainerBase::save_best() {
    if (!std::exchange(best_unsaved_, false)) return;
    Checkpoint about;
    about.place = {best_.epoch() + 1, 0, 0};
    about.record.trial = best_.trial();
    about.record.epoch = best_.epoch() + 1;
    about.layout_hash = best_layout_;
    about.state_hash = best_hash_;
    about.whole = state_is_whole();
    checkpointer_->keep(std::move(about), best_.bytes(), Checkpointer::Kept::best_of_run);
}

// What the end of a lap is kept for. Rank 0 knows which file holds a trial's best: this trainer has seen the trial only
// since it has been at home here.
void TrainerBase::keep_boundary(Journey const& journey, ByteView state) {
    if (!checkpointer_ || !state_is_whole()) return;
    auto const asked = kept_ends_.find(journey.lap.trial);
    bool const wanted = asked != kept_ends_.end() && asked->second.erase(journey.lap.epoch) > 0;
    if (search_clones_ || wanted) return keep(journey, state, Checkpointer::Kept::boundary);
    if (!keeps_every_best(resources_.experiment)) return;
    auto const& search = resources_.experiment.search;
    auto const value =
        metric_value(metrics_of(journey.record, loss_of(resources_.experiment, journey.lap.assignment)), search.metric);
    auto const before = bests_.find(journey.lap.trial);
    if (!std::isfinite(value) || (before != bests_.end() && !better(value, before->second, search.mode))) return;
    bests_[journey.lap.trial] = value;
    keep(journey, state, Checkpointer::Kept::best_of_trial);
}

// A state that rests here is at the end of a lap now.
void TrainerBase::answer_keep(TrialMessage const& asked) {
    if (!checkpointer_ || !state_is_whole()) return;
    auto const rested = resting_.find(asked.trial);
    auto const* state = state_at_rest(asked.trial);
    bool const here = rested != resting_.end() && state != nullptr && *state && asked.epoch + 1 == rested->second.lap.epoch;
    if (!here) {
        kept_ends_[asked.trial].insert(asked.epoch);
        return;
    }
    auto behind = rested->second;
    --behind.lap.epoch;
    store().look(*state, [&](ByteView bytes) { keep(behind, bytes, Checkpointer::Kept::boundary); });
}

void TrainerBase::answer_leave(Leave const& asked) {
    left_[asked.trial] = asked.why;
    leave_waiting(asked.trial);
}

std::string const* TrainerBase::left_why(TrialId trial) const {
    auto const found = left_.find(trial);
    return found == left_.end() ? nullptr : &found->second;
}

void TrainerBase::end_left(Journey& journey, ByteView state) {
    if (checkpointer_ && !state.empty() && !journey.saved && state_is_whole()) save(journey, state);
    journey.record.outcome = Outcome::stopped;
    journey.record.reason = left_.at(journey.lap.trial);
    finish(journey, {});
}

TrainerBase::Told TrainerBase::told_of(TrialId trial) {
    while (auto message = resources_.courier.receive(0)) set_aside(std::move(*message));
    bool forgotten = false;
    for (auto const& message : postponed_) {
        if (message.kind == MessageKind::stop) forgotten |= decode<TrialMessage>(message.body).trial == trial;
        if (message.kind != MessageKind::leave) continue;
        if (auto asked = decode<Leave>(message.body); asked.trial == trial) left_[trial] = asked.why;
    }
    return left_.contains(trial) ? Told::leave : forgotten ? Told::forget : Told::nothing;
}

void TrainerBase::keep(Journey const& journey, ByteView state, Checkpointer::Kept kept) {
    Checkpoint about;
    about.place = {journey.lap.epoch + 1, 0, 0};
    about.record.trial = journey.lap.trial;
    about.record.epoch = journey.lap.epoch + 1;
    auto const& layout = resources_.runner->layout(journey.lap);
    about.layout_hash = layout.hash();
    about.state_hash = state_hash(state, layout);
    checkpointer_->keep(std::move(about), state, kept);
}

// The next job is not to meet it again: it goes on from an older file.
void TrainerBase::set_aside_wrong(Lap const& lap, std::uint64_t expected, std::uint64_t found) const {
    auto const path = std::filesystem::path(resources_.checkpoints.run_dir) / lap.from;
    auto aside = path;
    aside += ".wrong";
    std::error_code ignored;
    std::filesystem::rename(path, aside, ignored);
    throw WrongState(fmt::format(
        "trial {}, epoch {}: {} holds another state than the journal says ({} instead of {}; nothing was trained on it, "
        "and it is called .wrong now) --resume goes on from the file before",
        lap.trial.value, lap.epoch, lap.from, to_hex(found), to_hex(expected)));
}

namespace {

// The journey stands where the file was written, in this attempt and from this home.
void go_on_from(Checkpoint const& about, Journey& journey) {
    auto const now = journey.record;
    journey.record = about.record;
    journey.record.attempt = now.attempt;
    journey.record.home = now.home;
    journey.record.begin_hash = now.begin_hash;
    journey.step = about.place.step;
    journey.batches = about.place.batch;
    journey.rows = about.rows;
    journey.loss_sum = about.loss_sum;
    journey.parts = about.parts;
}

}  // namespace

Buffer TrainerBase::load(Journey& journey) const {
    CheckpointFile const file(std::filesystem::path(resources_.checkpoints.run_dir) / journey.lap.from);
    auto const& about = file.about();
    auto const wrong = [&](std::string_view what) { throw DataError(fmt::format("{}: {}", journey.lap.from, what)); };
    if (about.run_id != resources_.checkpoints.run_id) wrong("is of another run");
    auto const& source = journey.lap.clone_of;
    bool const clones =
        source && about.record.trial == source->trial && about.place.epoch == source->epoch + 1 && about.place.step == 0;
    bool const own = about.record.trial == journey.lap.trial && about.place.epoch == journey.lap.epoch;
    if (!own && !clones) wrong("is of another trial or epoch");
    auto const& layout = resources_.runner->layout(journey.lap);
    if (about.layout_hash != layout.hash() || file.state_bytes() != layout.bytes) wrong("holds a state of another layout");
    if (about.place.step > resources_.runner->shards()) wrong("is at a shard that does not exist");
    auto state = resources_.courier.pool().acquire(file.state_bytes());
    file.read_state(state.bytes());
    auto const hash = state_hash(state.bytes(), layout);
    for (auto const expected : {journey.lap.from_hash, about.state_hash})
        if (expected != 0 && expected != hash) set_aside_wrong(journey.lap, expected, hash);
    journey.saved_unix_s = unix_s();
    journey.saved = true;
    bool const begins = !own || (about.place.step == 0 && about.place.batch == 0);
    journey.record.begin_hash = begins ? hash : about.record.begin_hash;
    if (!own) {  // the lap begins with it
        journey.record.state_hash = hash;
        return state;
    }
    go_on_from(about, journey);
    journey.record.state_hash = hash;
    return state;
}

}  // namespace hopscotch
