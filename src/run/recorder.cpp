// SPDX-License-Identifier: Apache-2.0
#include "run/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/ids.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/strategy_traits.hpp"
#include "run/comparisons.hpp"
#include "run/files.hpp"
#include "run/progress.hpp"
#include "run/server_log.hpp"
#include "run/trace.hpp"

namespace hopscotch {

Recorder::Recorder(RunDirectory const& directory, RunFacts const& facts, Experiment const& experiment)
    : directory_(directory.path()),
      facts_(facts),
      experiment_(experiment),
      journal_(directory.file("journal.jsonl")),
      metrics_(directory.file("metrics.jsonl")),
      trace_(std::make_unique<TraceWriter>(directory.file("trace.json"), facts.hosts, facts.start_unix_s)),
      tally_(experiment.search.metric, experiment.search.mode, facts.trainers(),
             {experiment.search.objective, experiment.search.copies()}),
      shelf_(directory.path(),
             procedure_traits(experiment.search.procedure).clones ? CheckpointShelf::Ends::for_clones
                                                                  : CheckpointShelf::Ends::newest,
             facts.same_bits_again ? StateChain::TrainedAgain::same_bits : StateChain::TrainedAgain::other_bits) {}

Recorder::~Recorder() = default;

void Recorder::restore(Journal const& journal) {
    incarnation_ = journal.incarnation + 1;
    lost_ = journal.lost;
    retries_ = journal.retries;
    journal_.run_resumed(incarnation_, facts_.trainers());
    shelf_.restore(journal);
    for (auto const& lap : journal.released) known_[{lap.trial, lap.epoch}] = lap.clone_of;
    auto const losses = losses_of(experiment_, journal.assignments);
    for (auto const& record : journal.laps) {
        auto const metrics = tally_.add(record, losses.at(record.trial));
        append_metrics(record, metrics);
        trace_->add(record);
    }
    for (auto const& [from, until] : journal.pauses) tally_.pause(from, until);
    if (journal.last_unix_s > 0) tally_.pause(journal.last_unix_s, unix_s());
    decisions_.assign(journal.decisions.begin(), journal.decisions.end());
    for (auto const& end : journal.ended)
        if (end.status != name_of(TrialStatus::interrupted)) ended_.insert(end.trial);
}

void Recorder::trainer_lost(TrainerLoss loss) {
    journal_.trainer_lost(loss);
    lost_.push_back(std::move(loss));
}

void Recorder::released(Lap const& lap) {
    shelf_.released(lap);
    // An order may have taken back what it was to begin with.
    auto const before = known_.find({lap.trial, lap.epoch});
    if (before != known_.end() && before->second == lap.clone_of) return;
    journal_.lap_released(lap);
    if (before != known_.end()) before->second = lap.clone_of;
}

void Recorder::ordered(Order const& order) { journal_.ordered(order); }

void Recorder::retried(LapRecord const& record) {
    ++retries_[record.trial];
    journal_.retried(record);
}

int Recorder::retries_of(TrialId trial) const {
    auto const found = retries_.find(trial);
    return found == retries_.end() ? 0 : found->second;
}

void Recorder::decided(Decision const& decision) {
    if (decisions_.empty()) return journal_.decided(decision);
    auto const& before = decisions_.front();
    auto const same = [&](auto... member) { return ((before.*member == decision.*member) && ...); };
    if (!same(&Decision::kind, &Decision::trial, &Decision::epoch, &Decision::until_epoch, &Decision::source))
        throw Error(fmt::format(
            "{}: the search decides differently from the journal (trial {}, epoch {}: {} in the journal; trial {}, epoch "
            "{}: {} now; was the journal edited, or written by another version?); start again with --overwrite",
            directory_.string(), before.trial.value, before.epoch, name_of(before.kind), decision.trial.value,
            decision.epoch, name_of(decision.kind)));
    decisions_.pop_front();
}

void Recorder::saved(LapSink::Saved const& saved) {
    if (!saved.file.empty()) journal_.checkpoint(saved);
    shelf_.saved(saved);
}

void Recorder::stop_if_replaced() {
    if (journal_.is_current()) return;
    finished_ = true;
    throw Error(fmt::format(
        "{}: another job continues this run (journal.jsonl is a new file, or gone); this job stops and writes nothing more "
        "there",
        directory_.string()));
}

void Recorder::tick() {
    journal_.sync_if_due();
    if (auto const now = monotonic_s(); now >= next_look_s_ || shelf_.has_surplus()) {
        next_look_s_ = now + 1;
        stop_if_replaced();
    }
    if (!shelf_.has_surplus()) return;
    journal_.sync();
    shelf_.delete_surplus([this](TrialId trial) { return wanted_epoch(trial); }, ended_);
}

std::optional<int> Recorder::wanted_epoch(TrialId trial) const {
    bool const wanted = keeps_every_best(experiment_) || tally_.best_trial() == trial;
    auto const& best = tally_.of(trial).best;
    return wanted && best ? std::optional(best->epoch) : std::nullopt;
}

Metrics Recorder::lap_done(LapRecord const& record, TrialView const& trial) {
    append_server_log(directory_ / "server_log.jsonl", record);  // before the journal says that the lap is done
    journal_.lap_done(record);
    shelf_.ended(record);
    auto const metrics = tally_.add(record, trial.loss);
    append_metrics(record, metrics);
    trace_->add(record);
    if (has_ended(trial.status)) trial_ended(trial);
    return metrics;
}

// A lap that was left has none. One that was under way when its trial was stopped comes again, with the same ones, if the
// trial goes on.
void Recorder::append_metrics(LapRecord const& record, Metrics const& metrics) {
    if (record.outcome == Outcome::stopped || !told_.insert({record.trial, record.epoch}).second) return;
    metrics_.append(record.trial, metrics, end_unix_s(record) - facts_.start_unix_s);
}

void Recorder::trial_ended(TrialView const& trial) {
    if (ended_.insert(trial.id).second) journal_.trial_ended(trial);
}

std::optional<BestSoFar> Recorder::best() const {
    auto const trial = tally_.best_trial();
    if (!trial) return std::nullopt;
    return BestSoFar{*trial, metric_value(*tally_.of(*trial).best, tally_.metric())};
}

namespace {

// What rank 0 knows at the end of the job.
void add_end(Summary& out, RunEnd const& end) {
    out.status = end.status;
    out.reason = end.reason;
    out.test = end.test;
    out.synthetic = end.synthetic;
    out.wall_s = end.wall_s;
    out.setup_s = end.setup_s;
    out.bytes = end.bytes;
    out.bytes_by_rank = end.bytes_by_rank;
    out.storage_bytes = end.storage_bytes;
    out.staged_bytes = end.staged_bytes;
    out.spilled_bytes = end.spilled_bytes;
    out.weight_bytes = end.weight_bytes;
    out.peak_rss_bytes = end.peak_rss_bytes;
    out.hop_s = percentiles(end.hop_s);
}

// What the laps add up to.
void add_tally(Summary& out, Tally const& tally) {
    out.makespan_s = tally.makespan_s();
    out.lower_bound_s = tally.lower_bound_s();
    out.utilisation = tally.utilisation();
    out.units = tally.units();
    out.hops = tally.hops();
    out.exposed_s = tally.exposed_s();
    out.sync_rounds = tally.sync_rounds();
    out.staleness = tally.staleness();
    out.unit_gap_s = tally.unit_gap_s();
    out.metric = tally.metric();
    out.mode = tally.mode();
    out.best_trial = tally.best_trial();
    out.groups = tally.groups();
}

}  // namespace

Summary Recorder::summarise(RunEnd const& end, std::vector<TrialView> const& trials) const {
    Summary out;
    add_end(out, end);
    add_tally(out, tally_);
    out.version = facts_.version;
    out.strategy = facts_.strategy;
    out.trainers = facts_.trainers();
    out.lost = lost_;
    out.jobs = incarnation_;
    for (auto const& [trial, retries] : retries_) out.retries += retries;
    out.shards = facts_.shards();
    out.exact = experiment_.run.exact && facts_.any_trainers && !facts_.approximate;
    out.checkpoints = shelf_.facts();
    std::erase_if(out.checkpoints.at_risk, [&](TrialId trial) {
        auto const status = trials.at(trial.index()).status;
        return has_ended(status) && status != TrialStatus::interrupted;
    });
    out.injected = experiment_.run.inject.as_written;
    if (has_setting(facts_.strategy, "batch_norm"))
        out.batch_norm = experiment_.strategy.batch_norm == NormStatistics::sync ? "sync" : "local";
    out.collectives = facts_.collectives;
    out.objective = experiment_.search.objective;
    for (auto const& trial : trials)
        out.trials.push_back(
            {trial.id, std::string(name_of(trial.status)), trial.reason, trial.assignment, tally_.of(trial.id)});
    out.pareto = pareto_of(out, experiment_.search, end.measures);
    out.ablation = ablation_of(out, experiment_);
    return out;
}

void Recorder::write_summary_so_far(RunEnd const& end, std::vector<TrialView> trials) const {
    if (!journal_.is_current()) return;
    for (auto& trial : trials)
        if (!has_ended(trial.status)) trial.status = TrialStatus::interrupted;
    write_summary(directory_ / "summary.json", summarise(end, trials));
}

Summary Recorder::finish(RunEnd const& end, std::vector<TrialView> const& trials) {
    if (!finished_) stop_if_replaced();
    for (auto const& trial : trials) trial_ended(trial);
    if (!std::exchange(finished_, true)) journal_.run_ended(name_of(end.status), end.reason);
    trace_->close();
    auto const summary = summarise(end, trials);
    write_atomically(directory_ / "trials.csv", trials_csv(summary));
    write_summary(directory_ / "summary.json", summary);
    return summary;
}

}  // namespace hopscotch
