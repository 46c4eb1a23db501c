// SPDX-License-Identifier: Apache-2.0
#include "run/recorder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "experiment/reader.hpp"
#include "experiment/strategy_traits.hpp"
#include "run/comparisons.hpp"
#include "run/files.hpp"
#include "run/server_log.hpp"
#include "search/search.hpp"

namespace hopscotch {

Recorder::Recorder(RunDirectory const& directory, RunFacts const& facts, Experiment const& experiment)
    : directory_(directory.path()),
      facts_(facts),
      experiment_(experiment),
      journal_(directory.file("journal.jsonl")),
      metrics_(directory.file("metrics.jsonl")),
      trace_(directory.file("trace.json"), facts.hosts, facts.start_unix_s),
      tally_(experiment.search.metric, experiment.search.mode, facts.trainers(),
             {experiment.search.objective, experiment.search.copies()}),
      clones_(procedure_clones(experiment.search.procedure)),
      chain_(facts.same_bits_again ? StateChain::TrainedAgain::same_bits : StateChain::TrainedAgain::other_bits) {}

void Recorder::restore(Journal const& journal, std::function<LossKind(TrialId)> const& loss) {
    incarnation_ = journal.incarnation + 1;
    lost_ = journal.lost;
    retries_ = journal.retries;
    journal_.run_resumed(incarnation_, facts_.trainers());
    for (auto const& lap : journal.released) {
        known_[{lap.trial, lap.epoch}] = lap.clone_of;
        chain_.released(lap);
    }
    for (auto const& record : journal.laps) {
        chain_.ended(record);
        auto const metrics = tally_.add(record, loss(record.trial));
        append_metrics(record, metrics);
        trace_.add(record);
    }
    for (auto const& [from, until] : journal.pauses) tally_.pause(from, until);
    if (journal.last_unix_s > 0) tally_.pause(journal.last_unix_s, unix_s());
    decisions_.assign(journal.decisions.begin(), journal.decisions.end());
    for (auto const& end : journal.ended)
        if (end.status != name_of(TrialStatus::interrupted)) ended_.insert(end.trial);
    for (auto const& file : journal.saved)
        if (std::filesystem::exists(directory_ / file.file) && chain_.may_be(file)) add_file(file);
}

void Recorder::trainer_lost(TrainerLoss loss) {
    journal_.trainer_lost(loss);
    lost_.push_back(std::move(loss));
}

void Recorder::released(Lap const& lap) {
    if (lap.clone_of) clones_of_[*lap.clone_of].push_back({lap.trial, lap.epoch});
    chain_.released(lap);
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

std::optional<int> Recorder::newest_boundary(TrialId trial) const {
    std::optional<int> out;
    if (auto const found = files_.find(trial); found != files_.end())
        for (auto const& file : found->second)
            if (file.epoch > 0 && place_of(file) == start_of_epoch(file.epoch) && file.whole && chain_.may_be(file))
                out = std::max(out.value_or(0), file.epoch - 1);
    return out;
}

void Recorder::decided(Decision const& decision) {
    if (decisions_.empty()) return journal_.decided(decision);
    auto const& before = decisions_.front();
    auto const same = [&](auto... member) { return ((before.*member == decision.*member) && ...); };
    if (!same(&Decision::kind, &Decision::trial, &Decision::epoch, &Decision::until_epoch, &Decision::source))
        throw Error(fmt::format(
            "{}: the search decides otherwise than the journal has it: trial {}, epoch {}: {} and now trial {}, epoch {}: "
            "{} (was "
            "the journal edited, or written by another version?) start again with --overwrite",
            directory_.string(), before.trial.value, before.epoch, name_of(before.kind), decision.trial.value,
            decision.epoch, name_of(decision.kind)));
    decisions_.pop_front();
}

void Recorder::saved(LapSink::Saved const& saved) {
    if (saved.file.empty()) {
        checkpoints_.at_risk.insert(saved.trial);
        return;
    }
    checkpoints_.at_risk.erase(saved.trial);
    ++checkpoints_.written;
    checkpoints_.longest_gap_s = std::max(checkpoints_.longest_gap_s, saved.gap_s);
    journal_.checkpoint(saved);
    add_file(saved);
    std::erase_if(begun_again_,
                  [&](LapId clone) { return clone.trial == saved.trial && place_of(saved) > start_of_epoch(clone.epoch); });
    begun_with_.erase(saved.trial);
    surplus_.insert(saved.trial);
}

void Recorder::sent(Lap const& lap) {
    if (!lap.from.empty())
        begun_with_[lap.trial] = lap.from;
    else if (lap.clone_of)
        begun_again_.insert({lap.trial, lap.epoch});
}

LapSink::Saved const* file_after(std::vector<LapSink::Saved> const& files, int epoch) {
    auto const file = std::ranges::find(files, start_of_epoch(epoch + 1), place_of);
    return file == files.end() ? nullptr : &*file;
}

LapSink::Saved const* Recorder::file_after(TrialId trial, int epoch) const {
    auto const found = files_.find(trial);
    if (found == files_.end()) return nullptr;
    auto const is_it = [&](auto const& file) { return place_of(file) == start_of_epoch(epoch + 1) && chain_.may_be(file); };
    auto const file = std::ranges::find_if(found->second, is_it);
    return file == found->second.end() ? nullptr : &*file;
}

// The end of a lap may be saved for two reasons, in one file.
void Recorder::add_file(LapSink::Saved const& saved) {
    auto& files = files_[saved.trial];
    std::erase_if(files, [&](auto const& before) { return before.file == saved.file; });
    files.push_back(saved);
}

bool Recorder::is_kept(LapSink::Saved const& file) const {
    if (auto const begun = begun_with_.find(file.trial); begun != begun_with_.end() && begun->second == file.file)
        return true;
    if (place_of(file) != start_of_epoch(file.epoch)) return false;
    return wanted_epoch(file.trial) == file.epoch - 1 || is_wanted_by_clones({file.trial, file.epoch - 1});
}

// Until no decision can ask for it, and who has begun with it has a file of its own from then on.
bool Recorder::is_wanted_by_clones(LapId lap) const {
    if ((clones_ && !let_go_.contains(lap)) || ordered_.contains(lap)) return true;
    auto const clones = clones_of_.find(lap);
    if (clones == clones_of_.end()) return false;
    return std::ranges::any_of(clones->second, [&](LapId clone) {
        if (begun_again_.contains(clone)) return true;
        auto const files = files_.find(clone.trial);
        auto const is_later = [&](auto const& file) { return place_of(file) > start_of_epoch(clone.epoch); };
        bool const later = files != files_.end() && std::ranges::any_of(files->second, is_later);
        return !later && !ended_.contains(clone.trial);
    });
}

void Recorder::let_go(LapId lap) {
    let_go_.insert(lap);
    surplus_.insert(lap.trial);
}

// Never the last two of a trial.
void Recorder::delete_surplus() {
    for (auto const trial : surplus_) {
        auto& files = files_[trial];
        std::ranges::stable_sort(files, std::greater(), place_of);
        int newest = 0;
        for (std::size_t i = 0; i < files.size();) {
            if ((files[i].whole && ++newest <= 2) || is_kept(files[i])) {
                ++i;
                continue;
            }
            std::error_code ignored;
            std::filesystem::remove(directory_ / files[i].file, ignored);
            files.erase(files.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    surplus_.clear();
}

void Recorder::stop_if_replaced() {
    if (journal_.is_current()) return;
    finished_ = true;
    throw Error(fmt::format(
        "{}: another job goes on with this run (its journal.jsonl is a new file, or gone); this one stops and leaves the "
        "directory to it",
        directory_.string()));
}

void Recorder::tick() {
    journal_.sync_if_due();
    if (auto const now = monotonic_s(); now >= next_look_s_ || !surplus_.empty()) {
        next_look_s_ = now + 1;
        stop_if_replaced();
    }
    if (surplus_.empty()) return;
    journal_.sync();
    delete_surplus();
}

std::optional<int> Recorder::wanted_epoch(TrialId trial) const {
    bool const wanted = keeps_every_best(experiment_) || tally_.best_trial() == trial;
    auto const& best = tally_.of(trial).best;
    return wanted && best ? std::optional(best->epoch) : std::nullopt;
}

Metrics Recorder::lap_done(LapRecord const& record, TrialView const& trial) {
    append_server_log(directory_ / "server_log.jsonl", record);  // before the journal says that the lap is done
    journal_.lap_done(record);
    chain_.ended(record);
    auto const metrics = tally_.add(record, loss_of(experiment_, trial.assignment));
    append_metrics(record, metrics);
    trace_.add(record);
    if (has_ended(trial.status)) end_trial(trial);
    return metrics;
}

// A lap that was left has none. One that was under way when its trial was stopped comes again, with the same ones, if the
// trial goes on.
void Recorder::append_metrics(LapRecord const& record, Metrics const& metrics) {
    if (record.outcome == Outcome::stopped || !told_.insert({record.trial, record.epoch}).second) return;
    metrics_.append(record.trial, metrics, end_unix_s(record) - facts_.start_unix_s);
}

void Recorder::end_trial(TrialView const& trial) {
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
    out.checkpoints = checkpoints_;
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
    for (auto const& trial : trials) end_trial(trial);
    if (!std::exchange(finished_, true)) journal_.run_ended(name_of(end.status), end.reason);
    trace_.close();
    auto const summary = summarise(end, trials);
    write_atomically(directory_ / "trials.csv", trials_csv(summary));
    write_summary(directory_ / "summary.json", summary);
    return summary;
}

}  // namespace hopscotch
