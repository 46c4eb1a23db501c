// SPDX-License-Identifier: Apache-2.0
#include "job/attempt.hpp"

#include <fmt/format.h>

#include "comm/buffer_pool.hpp"
#include "comm/courier.hpp"
#include "comm/peers.hpp"
#include "core/clock.hpp"
#include "core/counted.hpp"
#include "core/fault.hpp"
#include "core/ids.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/best_model.hpp"
#include "job/describe_run.hpp"
#include "job/earlier_jobs.hpp"
#include "job/live_view.hpp"
#include "job/owner_moves.hpp"
#include "job/prepare.hpp"
#include "job/run_meter.hpp"
#include "job/run_options.hpp"
#include "rundir/checkpoint.hpp"
#include "schedule/director.hpp"
#include "strategy/common/dispatcher.hpp"
#include "strategy/common/pump.hpp"
#include "strategy/common/resources.hpp"
#include "strategy/roll_call.hpp"
#include "strategy/strategy_table.hpp"
#include "view/terminal.hpp"

namespace hopscotch {
Attempt::Attempt(PreparedRun& prepared, Courier& courier, RunOptions const& options, OwnerMoves& moves,
                 std::function<void(RunView)> publish)
    : prepared_(prepared),
      courier_(courier),
      moves_(moves),
      director_(*prepared.director),
      facts_(facts_of(prepared)),
      directory_(prepared.experiment.run.dir, run_dir_use(options), facts_,
                 prepared.earlier ? prepared.earlier->journal.complete_bytes : 0),
      recorder_(directory_, facts_, prepared.experiment),
      dispatcher_(strategy_named(prepared.experiment.strategy.name)
                      .make_dispatcher({courier, prepared.experiment, prepared.owners_of_files()})),
      control_(
          prepared, recorder_,
          [this](TrialId trial, std::string const& why) {
              if (!catch_up_ || !catch_up_->waits_for(trial))
                  dispatcher_->leave(trial, why);  // else to the end of what is known
          },
          *dispatcher_),
      pump_(courier, facts_.hosts, prepared.experiment.run.stall_s, *dispatcher_),
      options_(options),
      publish_(std::move(publish)) {
    if (prepared.earlier)
        catch_up_.emplace(*prepared.earlier, prepared.experiment,
                          most_checkpoint_bytes(prepared.state_bytes, prepared.trainers));
}

Attempt::~Attempt() = default;

void Attempt::run() {
    bool const job_begins = !prepared_.training_since_s;
    if (job_begins) {
        prepared_.training_since_s = monotonic_s();
        prepared_.meter = std::make_unique<RunMeter>(prepared_.experiment, prepared_.shard_files());
    }
    pausing_ = signal_caught() != 0;  // while the job started: nothing is trained
    if (catch_up_) go_on(job_begins);
    start_view();
    release();
    moves_.released(monotonic_s());
    while (!director_.finished() || (catch_up_ && catch_up_->waits())) {
        pump_.take(*this, 0.1);
        recorder_.tick();
        control_.tick();
        check_held();
        show_progress();
        if (signal_caught() != 0) return live_->leave();
    }
    // Laps that orders ended may still be under way, and one of them may become the best of all.
    if (control_.has_ordered()) pump_.settle(*this, [] { return signal_caught() != 0; });
    auto last = view();
    last.done = last.total;  // orders have changed what there was to do
    live_->finish(last);
}

bool Attempt::pause() {
    pausing_ = true;
    bool const in_time = pump_.pause(*this, prepared_.experiment.run.grace_s);
    director_.interrupt();
    return in_time;
}

void Attempt::bury(TrainerLost const& lost) {
    pausing_ = true;
    log_warning(fmt::format("{}; the job goes on without it", lost.what()));
    auto const trainer = trainer_of(lost.rank);
    bury_and_tell(courier_, {lost.rank, lost.what()});
    recorder_.trainer_lost({trainer, facts_.hosts[trainer.index()], lost.what(), unix_s()});
    if (courier_.peers().living().empty()) throw CommError(fmt::format("{}; no trainer is left", lost.what()));
    std::vector<TrainerId> heirs;
    for (auto const rank : courier_.peers().living()) heirs.push_back(trainer_of(rank));
    if (!strategy_traits(prepared_.experiment.strategy.name).all_trainers) heirs.resize(1);
    prepared_.owners = without(prepared_.owners, trainer, heirs);
}

void Attempt::leave_off() {
    pausing_ = true;
    if (!pump_.pause(*this, prepared_.experiment.run.stall_s))
        throw CommError(fmt::format("the trainers did not stop within {:.0f} s; run.stall_s sets this limit",
                                    prepared_.experiment.run.stall_s));
}

void Attempt::lap_done(LapRecord const& record) {
    fault_point("lap.record");
    auto const meaning = meaning_of(record);
    if (meaning == RecordMeaning::undone) return;
    homes_[record.trial] = record.home;
    here_.insert({record.trial, record.epoch});
    switch (meaning) {
        case RecordMeaning::undone:
        case RecordMeaning::outdated: return;
        case RecordMeaning::retry: return retry(record);
        case RecordMeaning::wrong_start: return refuse(record);
        case RecordMeaning::known: return confirm(record);
        case RecordMeaning::news: return deliver(record);
    }
}

// The first that fits.
Attempt::RecordMeaning Attempt::meaning_of(LapRecord const& record) const {
    if (!control_.counts(record)) return RecordMeaning::undone;
    if (may_retry(record)) return RecordMeaning::retry;
    if (taken_up_.contains(record.trial)) return RecordMeaning::outdated;
    if (wrong_.contains(record.trial) || !recorder_.shelf().chain().complaint(record).empty())
        return RecordMeaning::wrong_start;
    if (catch_up_ && catch_up_->knows(record)) return RecordMeaning::known;
    return RecordMeaning::news;
}

// A failure of the trial's surroundings does not end the trial, up to search.retries times.
bool Attempt::may_retry(LapRecord const& record) const {
    return record.outcome == Outcome::failed && record.cause == Cause::surroundings &&
           recorder_.retries_of(record.trial) < prepared_.experiment.search.retries &&
           !has_ended(director_.trials()[record.trial.index()].status);
}

void Attempt::retry(LapRecord const& record) {
    recorder_.retried(record);
    auto const text =
        fmt::format("trial {}: {}; it goes back to its last checkpoint (search.retries: {} of {})", record.trial.value,
                    record.reason, recorder_.retries_of(record.trial), prepared_.experiment.search.retries);
    if (!pausing_) throw TrialGoesBack(text);
    log_warning(text);  // the next attempt begins with the checkpoint
}

// While the job pauses, the lap may have been under way when an order changed its trial. Otherwise the state was damaged.
void Attempt::refuse(LapRecord const& record) {
    if (!wrong_.insert(record.trial).second) return;
    if (!pausing_) throw StateDamaged(recorder_.shelf().chain().complaint(record));
}

void Attempt::confirm(LapRecord const& record) {
    catch_up_->confirm(record);
    recorder_.shelf().ended(record);
    dispatcher_->lap_done(record);
}

void Attempt::deliver(LapRecord record) {
    record.orders = control_.orders_with(record);
    director_.record(record);
    recorder_.lap_done(record, director_.trials()[record.trial.index()]);
    auto const& trial = director_.trials()[record.trial.index()];
    flops_of_laps_ += static_cast<double>(record.units.size()) * trial.unit_cost;
    prepared_.meter->learn(record, trial);
    end_trials();
    release();
    dispatcher_->lap_done(record);
    take_up();
    moves_.hear(record);
    if (!pausing_ && !director_.finished() && !(catch_up_ && catch_up_->waits())) moves_.look(monotonic_s());
}

// Orders can resume trials that had ended, and whose states were dropped.
void Attempt::take_up() {
    for (auto const& trial : director_.trials())
        if (!has_ended(trial.status) && ended_.contains(trial.id)) taken_up_.insert(trial.id);
    if (!taken_up_.empty() && !pausing_)
        throw TrialGoesBack(fmt::format("trial {} continues from its last checkpoint", taken_up_.begin()->value));
}

// The decisions after a lap may end other trials, too.
void Attempt::end_trials() {
    for (auto const& trial : director_.trials()) {
        if (!has_ended(trial.status) || !ended_.insert(trial.id)) continue;
        recorder_.trial_ended(trial);
        held_.erase(trial.id);
        // The state may still be needed while laps are being trained again.
        if (!catch_up_ || !catch_up_->waits_for(trial.id)) dispatcher_->forget(trial.id);
        if (trial.status == TrialStatus::failed || trial.status == TrialStatus::diverged)
            log_warning(fmt::format("trial {} {}: {}", trial.id.value, name_of(trial.status), trial.reason));
    }
}

// Feeds the journal of earlier jobs to the director, then executes the remaining laps of every trial.
void Attempt::go_on(bool job_begins) {
    auto laps = catch_up_->begin(director_, recorder_);
    if (!procedure_traits(prepared_.experiment.search.procedure).clones)
        for (auto const& lap : catch_up_->ends_to_keep())
            if (asked_for_.insert(lap).second) dispatcher_->keep_end(lap);
    for (auto& lap : laps) {
        released_[lap.trial] = std::max(released_[lap.trial], lap.epoch);
        execute(std::move(lap));
    }
    auto const& trials = director_.trials();
    auto const units = catch_up_->units_in_files(trials);
    if (job_begins) prepared_.meter->begin(trials, units);
    flops_before_ = RunMeter::flops_of(trials, units) - pump_.flops_done();
    for (auto const& trial : director_.trials()) {
        if (has_ended(trial.status)) {
            ended_.insert(trial.id);
            recorder_.trial_ended(trial);  // the job before may have been killed when it had journalled the lap
        } else {
            recorder_.lives(trial.id);
        }
    }
}

void Attempt::release() {
    if (pausing_) return;
    for (auto const& decision : director_.take_decisions()) recorder_.decided(decision);
    for (auto& lap : director_.release()) {
        recorder_.released(lap);
        if (catch_up_) catch_up_->place(lap);
        auto const [before, first] = released_.try_emplace(lap.trial, lap.epoch);
        // The trial had ended, or an order took back its laps from this epoch on. Then the trainers hold a state that it
        // must not continue with.
        if (ended_.contains(lap.trial) || (!first && lap.epoch <= before->second)) taken_up_.insert(lap.trial);
        before->second = lap.epoch;
        if (!taken_up_.contains(lap.trial)) execute(std::move(lap));  // else the next attempt sends it
    }
    for (auto const& lap : director_.take_releases()) recorder_.shelf().let_go(lap);
    if (control_.has_ordered()) recorder_.shelf().hold(control_.sources_to_hold());
}

// A lap that begins with the state of another trial takes the state from a file. The lap and its successors wait until the
// file exists.
void Attempt::execute(Lap lap) {
    held_[lap.trial].laps.push_back(std::move(lap));
    execute_held();
}

void Attempt::execute_held() {
    for (auto& [trial, held] : held_) {
        while (!held.laps.empty() && !pausing_) {
            auto& lap = held.laps.front();
            if (lap.clone_of && lap.from.empty()) {
                auto const* file = file_to_begin_with(lap, held);
                if (file == nullptr) break;
                lap.from = file->file;
                lap.from_hash = recorder_.shelf().chain().at_end_of(*lap.clone_of).value_or(file->state_hash);
            }
            dispatcher_->execute(lap);
            held.laps.pop_front();
            held.since_s.reset();
        }
    }
    std::erase_if(held_, [](auto const& entry) { return entry.second.laps.empty(); });
}

// Null if the file does not exist yet.
LapSink::Saved const* Attempt::file_to_begin_with(Lap const& lap, Held& held) {
    auto const* file = recorder_.shelf().file_after(lap.clone_of->trial, lap.clone_of->epoch);
    if (file != nullptr) return file;
    if (procedure_traits(prepared_.experiment.search.procedure).clones) return nullptr;  // then all are written
    auto const& source = director_.trials()[lap.clone_of->trial.index()];
    if (!held.since_s && (source.epochs_done > lap.clone_of->epoch || has_ended(source.status)))
        held.since_s = monotonic_s();
    if (asked_for_.insert(*lap.clone_of).second) dispatcher_->keep_end(*lap.clone_of);
    return nullptr;
}

// A trainer may learn too late that it must keep the end of a lap. Then the lap is trained again, as after a loss. Before
// that, rank 0 waits as long as for a transfer, because the file may be on its way to the disk.
void Attempt::check_held() {
    for (auto const& [trial, held] : held_) {
        if (!held.since_s || monotonic_s() < *held.since_s + prepared_.experiment.run.deadline_s) continue;
        auto const& source = *held.laps.front().clone_of;
        if (recorder_.shelf().at_risk(source.trial)) continue;  // it is being tried again
        throw TrialGoesBack(fmt::format(
            "trial {} begins with the state of trial {} after epoch {}, which no file holds: that epoch is trained again",
            trial.value, source.trial.value, source.epoch));
    }
}

void Attempt::start_view() {
    auto const& experiment = prepared_.experiment;
    live_ = std::make_unique<LiveView>(
        LiveView::Job{experiment.name,
                      fmt::format("{}, {}, {}, {}", experiment.search.procedure, experiment.strategy.name,
                                  counted(prepared_.shards, "shard"), counted(prepared_.trainers, "trainer")),
                      prepared_.trainers, options_.quiet ? ProgressMode::quiet : progress_mode(terminal_of(2)), publish_},
        recorder_.tally(), courier_.peers());
}

void Attempt::show_progress() {
    auto const now = monotonic_s();
    if (now < next_view_s_) return;
    next_view_s_ = now + 0.1;
    auto const state = view();
    live_->update(state, now);
    if (live_->look_is_due(now)) live_->look(state, director_.trials(), now);
}

ProgressState Attempt::view() {
    ProgressState state;
    state.elapsed_s = monotonic_s() - *prepared_.training_since_s;
    bool const grows = prepared_.decides && !director_.finished();
    // The trainers' counters are ahead of the laps that have ended. They keep counting over all attempts.
    auto const ahead = flops_before_ + pump_.flops_done() - flops_of_laps_;
    auto const work = prepared_.meter->work(director_.trials(), std::max(0.0, ahead),
                                            grows ? static_cast<double>(prepared_.plan.epochs) : 0);
    state.total = work.total;
    state.done = work.done;
    state.done_before = work.before;
    state.busy = pump_.busy_trainers();
    state.trainers = prepared_.trainers;
    state.trials_done = static_cast<std::int64_t>(ended_.size());
    state.trials = std::max(prepared_.decides && !director_.finished() ? prepared_.plan.trials : 0,
                            static_cast<std::int64_t>(director_.trials().size()));
    state.metric = prepared_.experiment.search.metric;
    state.best = recorder_.best();
    return state;
}

}  // namespace hopscotch
