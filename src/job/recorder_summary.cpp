// SPDX-License-Identifier: Apache-2.0
// The sums of the records of a run: summary.json and trials.csv.
#include <fmt/format.h>

#include <utility>

#include "core/durable_file.hpp"
#include "core/error.hpp"
#include "core/log.hpp"
#include "experiment/measures.hpp"
#include "experiment/strategy_traits.hpp"
#include "job/recorder.hpp"
#include "job/run_end.hpp"
#include "rundir/journal_writer.hpp"
#include "view/comparisons.hpp"
#include "view/progress.hpp"
#include "view/trial_events.hpp"

namespace hopscotch {
namespace {

// The facts that rank 0 knows at the end of the job.
void add_end(Summary& out, RunEnd const& end) {
    out.status = end.status;
    out.reason = end.reason;
    out.result.test = end.test;
    out.result.standard_error = end.standard_error;
    out.setting.synthetic = end.synthetic;
    out.times.wall_s = end.wall_s;
    out.times.setup_s = end.setup_s;
    out.bytes = end.bytes;
    out.times.hop_s = percentiles(end.hop_s);
}

// The sums over the laps.
void add_tally(Summary& out, Tally const& tally) {
    out.times.makespan_s = tally.makespan_s();
    out.times.lower_bound_s = tally.lower_bound_s();
    out.times.utilisation = tally.utilisation();
    out.times.units = tally.units();
    out.times.hops = tally.hops();
    out.sync.exposed_s = tally.exposed_s();
    out.sync.rounds = tally.sync_rounds();
    out.sync.staleness = tally.staleness();
    out.times.unit_gap_s = tally.unit_gap_s();
    out.result.metric = tally.metric();
    out.result.mode = tally.mode();
    out.result.best_trial = tally.best_trial();
    out.groups = tally.groups();
}

// The sizes that the experiment compares.
void add_measures(Summary& out, SearchConfig const& search, RunEnd const& end) {
    for (auto& trial : out.trials)
        for (auto const& name : search.front.names)
            if (auto const found = end.measures.find(trial.id); is_measure(name) && found != end.measures.end())
                trial.measures[name] = value_of(found->second, name);
}

}  // namespace

std::optional<BestSoFar> Recorder::best() const {
    auto const trial = tally_.best_trial();
    if (!trial) return std::nullopt;
    return BestSoFar{*trial, metric_value(*tally_.of(*trial).best, tally_.metric())};
}

Summary Recorder::summarise(RunEnd const& end, std::vector<TrialView> const& trials) const {
    Summary out;
    add_end(out, end);
    add_tally(out, tally_);
    out.setting.version = facts_.build.version;
    out.setting.strategy = facts_.strategy;
    out.setting.trainers = facts_.trainers();
    out.history.lost = lost_;
    out.history.moved = moved_;
    out.history.jobs = incarnation_;
    for (auto const& [trial, retries] : retries_) out.history.retries += retries;
    out.setting.shards = facts_.shards();
    out.setting.exact = experiment_.run.exact && facts_.bits.any_trainers && !facts_.bits.approximate;
    out.checkpoints = shelf_.facts();
    std::erase_if(out.checkpoints.at_risk, [&](TrialId trial) {
        auto const status = trials.at(trial.index()).status;
        return has_ended(status) && status != TrialStatus::interrupted;
    });
    out.setting.injected = experiment_.run.inject.as_written;
    if (has_setting(facts_.strategy, "batch_norm"))
        out.setting.batch_norm = experiment_.strategy.batch_norm == NormStatistics::sync ? "sync" : "local";
    out.setting.collectives = facts_.fleet.collectives;
    out.result.objective = experiment_.search.objective;
    for (auto const& trial : trials)
        out.trials.push_back(
            {trial.id, std::string(name_of(trial.status)), trial.reason, trial.assignment, tally_.of(trial.id)});
    add_measures(out, experiment_.search, end);
    out.pareto = pareto_of(out, experiment_.search);
    out.ablation = ablation_of(out, experiment_);
    return out;
}

void Recorder::write_summary_so_far(RunEnd const& end, std::vector<TrialView> trials) const {
    if (!journal().is_current()) return;
    for (auto& trial : trials)
        if (!has_ended(trial.status)) trial.status = TrialStatus::interrupted;
    try {
        write_summary(directory_ / "summary.json", summarise(end, trials));
    } catch (IoError const& error) {  // finish() writes it again: saving the trials comes first
        log_warning(error.what());
    }
}

Summary Recorder::finish(RunEnd const& end, std::vector<TrialView> const& trials) {
    if (!finished_) stop_if_replaced();
    for (auto const& trial : trials) trial_ended(trial);
    if (!std::exchange(finished_, true)) journal_->run_ended(name_of(end.status), end.reason);
    if (events_) events_->finish(trials);
    auto const summary = summarise(end, trials);
    table_is_written_ = false;
    complete(summary);
    write_summary(directory_ / "summary.json", summary);  // the last one: its presence means that the others are there
    return summary;
}

}  // namespace hopscotch
