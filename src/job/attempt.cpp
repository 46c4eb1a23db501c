// SPDX-License-Identifier: Apache-2.0
#include "job/attempt.hpp"

#include <fmt/format.h>

#include <utility>

#include "comm/courier.hpp"
#include "comm/peers.hpp"
#include "core/clock.hpp"
#include "core/fault.hpp"
#include "core/log.hpp"
#include "core/signals.hpp"
#include "direct/director.hpp"
#include "experiment/procedures.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/describe_run.hpp"
#include "job/earlier_jobs.hpp"
#include "job/prepared_run.hpp"
#include "job/run_options.hpp"
#include "rundir/run_directory.hpp"
#include "strategy/common/dispatcher.hpp"
#include "strategy/roll_call.hpp"
#include "strategy/strategy_table.hpp"

namespace hopscotch {
namespace {

RunDirectory run_directory(PreparedRun const& prepared, RunOptions const& options, RunFacts const& facts) {
    return {prepared.inputs.experiment.run.dir, run_dir_use(options), facts,
            prepared.inputs.earlier ? prepared.inputs.earlier->journal.complete_bytes : 0};
}

std::unique_ptr<CatchUp> catch_up_of(PreparedRun const& prepared) {
    if (!prepared.inputs.earlier) return nullptr;
    return std::make_unique<CatchUp>(*prepared.inputs.earlier, prepared.inputs.experiment,
                                     most_checkpoint_bytes(prepared.plan.state_bytes, prepared.fleet.trainers));
}

}  // namespace

Attempt::Attempt(PreparedRun& prepared, Courier& courier, RunOptions const& options, OfJob of_job)
    : Attempt(prepared, courier, options, std::move(of_job), facts_of(prepared)) {}

Attempt::Attempt(PreparedRun& prepared, Courier& courier, RunOptions const& options, OfJob of_job, RunFacts const& facts)
    : prepared_(prepared),
      moves_(of_job.moves),
      recorder_(run_directory(prepared, options, facts), facts, prepared.inputs.experiment),
      pump_(courier, facts.fleet.hosts, prepared.inputs.experiment.run.limits.stall_s,
            strategy_named(prepared.inputs.experiment.strategy.name)
                .make_dispatcher({courier, prepared.inputs.experiment, prepared.owners_of_files()})),
      catch_up_(catch_up_of(prepared)),
      control_(
          prepared, recorder_,
          [this](TrialId trial, std::string const& why) {
              if (!catch_up_ || !catch_up_->waits_for(trial))
                  pump_.dispatcher().leave(trial, why);  // otherwise the lap goes on to the end of the known laps
          },
          pump_.dispatcher()),
      triage_(*prepared.director, recorder_, control_, catch_up_.get(), prepared.inputs.experiment.search.retries),
      held_(prepared, recorder_.shelf(), pump_.dispatcher()),
      best_(prepared, recorder_, pump_, catch_up_.get(),
            {[this](double timeout_s) { hear(timeout_s); }, [this] { return end_ || signal_caught() != 0; }}),
      view_(prepared, recorder_, pump_, of_job.meter, {options.quiet, std::move(of_job.publish)}) {}

AttemptEnd Attempt::run() {
    bool const job_begins = view_.start(monotonic_s());
    if (signal_caught() != 0) end_with(SignalCame{});  // while the job started: nothing is trained
    if (catch_up_) go_on(job_begins);
    view_.begin();
    release();
    moves_.released(monotonic_s());
    while (!end_ && work_is_left()) {
        hear(0.1);
        if (end_) break;
        recorder_.tick();
        control_.tick();
        if (auto why = held_.overdue(monotonic_s())) end_with(TrialGoesBack{std::move(*why)});
        view_.show(triage_.trials_ended(), monotonic_s());
        if (signal_caught() != 0) end_with(SignalCame{});
    }
    // Laps that orders ended may still be under way, and one of them may become the best of all.
    if (!end_ && control_.has_ordered())
        if (auto answers = pump_.settle(*this, [this] { return end_ || signal_caught() != 0; }); answers.setback)
            end_with(std::move(*answers.setback));
    if (end_ && std::holds_alternative<SignalCame>(*end_)) view_.leave();
    if (!end_) finish();
    return end_.value_or(TrialsEnded{});
}

void Attempt::finish() {
    for (auto const& source : prepared_.director->ordered_sources())
        log_warning(
            fmt::format("a clone of trial {} has not begun (the trial ended before the end of epoch {}); "
                        "without a lap there is no state to begin with",
                        source.trial.value, source.epoch));
    view_.finish(triage_.trials_ended());
}

bool Attempt::work_is_left() const { return !prepared_.director->finished() || (catch_up_ && catch_up_->waits()); }

// The first end counts.
void Attempt::end_with(AttemptEnd end) {
    if (!end_) end_ = std::move(end);
}

void Attempt::hear(double timeout_s) {
    if (auto setback = pump_.take(*this, timeout_s)) end_with(std::move(*setback));
}

Pump::Answers Attempt::pause() {
    end_with(SignalCame{});
    auto answers = pump_.pause(*this, prepared_.inputs.experiment.run.limits.grace_s);
    if (!answers.setback) prepared_.director->interrupt();
    return answers;
}

void Attempt::bury(LostTrainer const& lost) {
    log_warning(fmt::format("{}; the job goes on without it", lost.why));
    auto const trainer = trainer_of(lost.rank);
    auto& courier = pump_.courier();
    bury_and_tell(courier, {lost.rank, lost.why});
    recorder_.trainer_lost({trainer, prepared_.fleet.hosts[trainer.index()], lost.why, unix_s()});
    if (courier.peers().living().empty()) throw CommError(fmt::format("{}; no trainer is left", lost.why));
    std::vector<TrainerId> heirs;
    for (auto const rank : courier.peers().living()) heirs.push_back(trainer_of(rank));
    if (!strategy_traits(prepared_.inputs.experiment.strategy.name).all_trainers) heirs.resize(1);
    prepared_.fleet.owners = without(prepared_.fleet.owners, trainer, heirs);
}

std::optional<Setback> Attempt::leave_off() {
    auto answers = pump_.pause(*this, prepared_.inputs.experiment.run.limits.stall_s);
    if (!answers.all && !answers.setback)
        throw CommError(fmt::format("the trainers did not stop within {:.0f} s; run.stall_s sets this limit",
                                    prepared_.inputs.experiment.run.limits.stall_s));
    return answers.setback;
}

void Attempt::fetched(Buffer&& state) { best_.fetched(std::move(state)); }

void Attempt::saved(SavedState const& saved) {
    recorder_.saved(saved);
    if (!end_) held_.execute();
}

void Attempt::lap_done(LapRecord record) {
    fault_point("lap.record");
    using Meaning = RecordTriage::Meaning;
    auto const meaning = triage_.meaning_of(record);
    if (meaning != Meaning::undone) best_.lap_done(record);
    switch (meaning) {
        case Meaning::undone:
        case Meaning::outdated: return;
        case Meaning::retry: return retry(record);
        case Meaning::wrong_start: return refuse(record);
        case Meaning::known: return confirm(record);
        case Meaning::news: return deliver(std::move(record));
    }
}

void Attempt::retry(LapRecord const& record) {
    recorder_.retried(record);
    auto text =
        fmt::format("trial {}: {}; it goes back to its last checkpoint (search.retries: {} of {})", record.trial.value,
                    record.reason, recorder_.retries_of(record.trial), prepared_.inputs.experiment.search.retries);
    if (end_) return log_warning(text);  // the next attempt begins with the checkpoint
    end_with(TrialGoesBack{std::move(text)});
}

// After the attempt's end, an order may have changed the trial while the lap was under way. Otherwise the state was damaged.
void Attempt::refuse(LapRecord const& record) {
    if (triage_.note_wrong(record.trial) && !end_) end_with(DamagedState{recorder_.shelf().chain().complaint(record)});
}

void Attempt::confirm(LapRecord const& record) {
    catch_up_->confirm(record);
    recorder_.shelf().ended(record);
    pump_.dispatcher().lap_done(record);
}

void Attempt::deliver(LapRecord record) {
    record.orders = control_.orders_with(record);
    prepared_.director->record(record);
    auto const& trial = prepared_.trials()[record.trial.index()];
    recorder_.lap_done(record, trial);
    view_.lap_done(record, trial);
    end_trials();
    release();
    pump_.dispatcher().lap_done(record);
    take_up();
    moves_.hear(record);
    if (end_ || !work_is_left()) return;
    if (auto move = moves_.look(monotonic_s())) end_with(std::move(*move));
}

// Orders can resume trials that had ended, and whose states were dropped.
void Attempt::take_up() {
    triage_.take_up();
    if (auto const trial = triage_.first_taken_up(); trial && !end_)
        end_with(TrialGoesBack{fmt::format("trial {} continues from its last checkpoint", trial->value)});
}

// The decisions after a lap may end other trials, too.
void Attempt::end_trials() {
    for (auto const& trial : prepared_.trials()) {
        if (!has_ended(trial.status) || !triage_.note_end(trial.id)) continue;
        recorder_.trial_ended(trial);
        held_.drop(trial.id);
        // The state may still be needed while laps are being trained again.
        if (!catch_up_ || !catch_up_->waits_for(trial.id)) pump_.dispatcher().forget(trial.id);
        if (trial.status == TrialStatus::failed || trial.status == TrialStatus::diverged)
            log_warning(fmt::format("trial {} {}: {}", trial.id.value, name_of(trial.status), trial.reason));
    }
}

// Feeds the journal of earlier jobs to the director, then executes the remaining laps of every trial.
void Attempt::go_on(bool job_begins) {
    auto laps = catch_up_->begin(*prepared_.director, recorder_);
    if (!procedure_traits(prepared_.inputs.experiment.search.procedure).clones)
        for (auto const& lap : catch_up_->ends_to_keep()) held_.keep_end(lap);
    for (auto& lap : laps) {
        triage_.sent_again(lap);
        execute(std::move(lap));
    }
    auto const& trials = prepared_.trials();
    view_.go_on(trials, catch_up_->units_in_files(trials), job_begins);
    for (auto const& trial : trials) {
        if (has_ended(trial.status)) {
            triage_.note_end(trial.id);
            recorder_.trial_ended(trial);  // the job before may have been killed when it had journalled the lap
        } else {
            recorder_.lives(trial.id);
        }
    }
}

void Attempt::release() {
    if (end_) return;
    auto& director = *prepared_.director;
    for (auto const& decision : director.take_decisions()) recorder_.decided(decision);
    for (auto& lap : director.release()) {
        recorder_.released(lap);
        if (catch_up_) catch_up_->place(lap);
        if (triage_.may_send(lap)) execute(std::move(lap));  // else the next attempt sends it
    }
    for (auto const& lap : director.take_releases()) recorder_.shelf().let_go(lap);
    if (control_.has_ordered()) recorder_.shelf().hold(control_.sources_to_hold());
}

void Attempt::execute(Lap lap) {
    held_.add(std::move(lap));
    if (!end_) held_.execute();
}

}  // namespace hopscotch
