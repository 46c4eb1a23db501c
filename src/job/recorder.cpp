// SPDX-License-Identifier: Apache-2.0
#include "job/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/ids.hpp"
#include "core/log.hpp"
#include "experiment/procedures.hpp"
#include "rundir/journal_writer.hpp"
#include "rundir/metrics_file.hpp"
#include "rundir/server_log.hpp"
#include "rundir/summary.hpp"
#include "view/trace.hpp"
#include "view/trial_events.hpp"

namespace hopscotch {
namespace {

constexpr double k_deletions_s = 0.1;  // between two deletions of files: the journal is synced before each

CheckpointShelf::AfterEnd after_end(std::string_view status) {
    return status == name_of(TrialStatus::stopped) ? CheckpointShelf::AfterEnd::resumable : CheckpointShelf::AfterEnd::over;
}

}  // namespace

Recorder::Recorder(RunDirectory const& directory, RunFacts const& facts, Experiment const& experiment)
    : directory_(directory.path()),
      facts_(facts),
      experiment_(experiment),
      journal_(std::make_unique<JournalWriter>(directory.file("journal.jsonl"), [this](Json const& line) { show(line); })),
      metrics_(std::make_unique<MetricsFile>(directory.file("metrics.jsonl"))),
      trace_(std::make_unique<TraceWriter>(directory.file("trace.json"), facts.fleet.hosts, facts.start_unix_s,
                                           experiment.strategy.group_size)),
      tally_(experiment.search.metric, experiment.search.mode, facts.trainers(),
             {experiment.search.objective, experiment.search.copies.count(), experiment.search.copies.race}),
      shelf_(directory.path(),
             procedure_traits(experiment.search.procedure).clones ? CheckpointShelf::Ends::for_clones
                                                                  : CheckpointShelf::Ends::newest,
             trains_together(experiment.strategy) ? CheckpointShelf::KeepEnd::last : CheckpointShelf::KeepEnd::none,
             experiment.run.checkpoints.keep,
             facts.bits.same_again ? StateChain::TrainedAgain::same_bits : StateChain::TrainedAgain::other_bits) {
    auto const folder = directory.file("tb");
    std::error_code ignored;
    if (experiment.run.tensorboard)
        events_ = std::make_unique<TrialEvents>(folder, experiment, journal());
    else
        std::filesystem::remove_all(folder, ignored);  // of an earlier job: the folder would not be continued
}

Recorder::~Recorder() = default;

void Recorder::trainer_lost(TrainerLoss loss) {
    journal_->trainer_lost(loss);
    lost_.push_back(std::move(loss));
}

void Recorder::owners_moved(OwnersMoved moved) {
    journal_->owners_moved(moved);
    moved_.push_back(std::move(moved));
}

void Recorder::show(Json const& journal_line) {
    if (auto const mark = mark_of(journal_line)) trace_->add(*mark);
}

void Recorder::released(Lap const& lap) {
    shelf_.released(lap);
    if (!told_.contains(lap.id())) trace_->released(lap.id());
    // An order may have taken back the lap that this lap was to begin with.
    auto const before = known_.find({lap.trial, lap.epoch});
    if (before != known_.end() && before->second == lap.clone_of) return;
    journal_->lap_released(lap);
    if (before != known_.end()) before->second = lap.clone_of;
}

void Recorder::ordered(Order const& order) { journal_->ordered(order); }

void Recorder::retried(LapRecord const& record) {
    ++retries_[record.trial];
    journal_->retried(record);
}

int Recorder::retries_of(TrialId trial) const {
    auto const found = retries_.find(trial);
    return found == retries_.end() ? 0 : found->second;
}

std::deque<Decision>::iterator Recorder::journalled(TrialId trial) {
    return facts_.plan.extended.empty() ? decisions_.begin() : std::ranges::find(decisions_, trial, &Decision::trial);
}

void Recorder::decided(Decision const& decision) {
    auto const next = journalled(decision.trial);
    if (next == decisions_.end()) return journal_->decided(decision);
    auto const& before = *next;
    auto const same = [&](auto... member) { return ((before.*member == decision.*member) && ...); };
    if (!same(&Decision::kind, &Decision::trial, &Decision::epoch, &Decision::until_epoch, &Decision::source))
        throw Error(fmt::format(
            "{}: the search decides differently from the journal (trial {}, epoch {}: {} in the journal; trial {}, epoch "
            "{}: {} now; was the journal edited, or written by another version?); start again with --overwrite",
            directory_.string(), before.trial.value, before.epoch, name_of(before.kind), decision.trial.value,
            decision.epoch, name_of(decision.kind)));
    decisions_.erase(next);
}

void Recorder::saved(SavedState const& saved) {
    if (!saved.file.empty()) journal_->checkpoint(saved);
    shelf_.saved(saved);
}

void Recorder::stop_if_replaced() {
    if (journal().is_current()) return;
    finished_ = true;
    throw Error(fmt::format(
        "{}: another job continues this run (journal.jsonl is a new file, or gone); this job stops and writes nothing more "
        "there",
        directory_.string()));
}

FileIdentity Recorder::journal() const { return journal_->identity(); }

void Recorder::tick() {
    journal_->sync_if_due();
    auto const now = monotonic_s();
    bool const deletes = shelf_.has_surplus() && now >= next_deletion_s_;
    if (now >= next_look_s_ || deletes) {
        next_look_s_ = now + 1;
        stop_if_replaced();
        if (events_) events_->write_soon();
    }
    if (deletes) delete_surplus();
}

void Recorder::delete_surplus() {
    auto const best = tally_.best_trial();
    if (auto const before = std::exchange(best_before_, best); before && before != best) shelf_.look_again(*before);
    journal_->sync();
    shelf_.delete_surplus([&](TrialId trial) { return wanted_epoch(trial, best); });
    next_deletion_s_ = monotonic_s() + k_deletions_s;
}

std::optional<int> Recorder::wanted_epoch(TrialId trial) const { return wanted_epoch(trial, tally_.best_trial()); }

std::optional<int> Recorder::wanted_epoch(TrialId trial, std::optional<TrialId> best_trial) const {
    bool const wanted = keeps_every_best(experiment_) || best_trial == trial;
    auto const& best = tally_.of(trial).best;
    return wanted && best ? std::optional(best->epoch) : std::nullopt;
}

Metrics Recorder::lap_done(LapRecord const& record, TrialView const& trial) {
    stop_if_replaced();
    append_server_log(directory_ / "server_log.jsonl", record);  // before the journal says that the lap is done
    journal_->lap_done(record);
    shelf_.ended(record);
    tally_.tell_configuration(trial.id, trial.assignment);
    auto const metrics = tally_.add(record, trial.config->train.loss);
    append_metrics(record, metrics, trial.assignment);
    trace_->add(record);
    if (has_ended(trial.status)) trial_ended(trial);
    return metrics;
}

// A lap that was left has no metrics. A lap that was under way when its trial was stopped comes again, with the same
// metrics, if the trial goes on.
void Recorder::append_metrics(LapRecord const& record, Metrics const& metrics, Assignment const& assignment) {
    if (record.outcome == Outcome::stopped || !told_.insert({record.trial, record.epoch}).second) return;
    metrics_->append(record.trial, metrics, end_unix_s(record) - facts_.start_unix_s);
    if (events_) events_->lap_done(record, metrics, assignment);
}

void Recorder::trial_ended(TrialView const& trial) {
    trace_->ended(trial.id);
    if (events_) events_->trial_ended(trial);
    if (trial.status != TrialStatus::interrupted) tally_.tell_end(trial.id);
    if (!ended_.insert(trial.id).second) return;
    journal_->trial_ended(trial);
    if (trial.status != TrialStatus::interrupted) shelf_.trial_ended(trial.id, after_end(name_of(trial.status)));
}

void Recorder::lives(TrialId trial) {
    ended_.erase(trial);
    shelf_.trial_lives(trial);
}

void Recorder::had_ended(TrialEnd const& end) {
    if (end.status == name_of(TrialStatus::interrupted)) return;
    tally_.tell_end(end.trial);
    ended_.insert(end.trial);
    shelf_.trial_ended(end.trial, after_end(end.status));
}

void Recorder::complete(Summary const& summary) {
    trace_->close();
    metrics_->try_again();
    if (table_is_written_) return;
    try {
        write_atomically(directory_ / "trials.csv", trials_csv(summary));
        table_is_written_ = true;
    } catch (std::exception const& error) {
        if (!std::exchange(told_of_table_, true)) log_warning(fmt::format("no table of the trials: {}", error.what()));
    }
}

}  // namespace hopscotch
