// SPDX-License-Identifier: Apache-2.0
// Reads a run directory for a report: experiment.json, the journal with its units, and summary.json where the run has one.
#include <fmt/format.h>
#include <map>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/results/compared_metric.hpp"
#include "analysis/results/run_results.hpp"
#include "analysis/results/run_times.hpp"
#include "core/clock.hpp"
#include "core/error.hpp"
#include "experiment/reader.hpp"
#include "experiment/strategy_label.hpp"
#include "rundir/metrics.hpp"
#include "rundir/trial_states.hpp"
#include "rundir/unit_file.hpp"
#include "search/race.hpp"
#include "view/run_view.hpp"

namespace hopscotch {
namespace {

using TrialIndex = std::map<TrialId, std::size_t>;

TrialIndex begin_trials(RunResults& data) {
    TrialIndex index;
    auto const states = trial_states(data.run.journal);
    for (auto const& [id, assignment] : data.run.journal.assignments) {
        index[id] = data.trials.size();
        auto& trial = data.trials.emplace_back();
        trial.id = id;
        trial.assignment = assignment;
        if (auto const state = states.find(id); state != states.end()) {
            trial.status = state->second.status;
            trial.reason = state->second.reason;
        }
    }
    return index;
}

// laps_that_count: a lap that was trained again stands in a curve once.
void add_curves(RunResults& data, TrialIndex const& index, std::map<TrialId, LossKind> const& losses,
                RunClock const& clock) {
    for (auto const* lap : laps_that_count(data.run.journal)) {
        if (lap->outcome != Outcome::finished) continue;
        auto& trial = data.trials[index.at(lap->trial)];
        auto metrics = metrics_of(*lap, losses.at(lap->trial));
        double const value = metric_value(metrics, data.metric);
        LapPoint const point{lap->epoch, value, clock.at(end_unix_s(*lap)), std::move(metrics)};
        trial.curve.push_back(point);
        trial.epochs = std::max(trial.epochs, lap->epoch + 1);
        trial.end_s = std::max(trial.end_s, point.end_s);
        trial.sizes.state_bytes = std::max(trial.sizes.state_bytes, static_cast<std::int64_t>(lap->state.bytes));
        trial.sizes.rows = std::max(trial.sizes.rows, totals_of(*lap).rows);
        if (std::isfinite(value) && (!trial.best || better(value, trial.best->value, data.mode))) trial.best = point;
    }
    for (auto& trial : data.trials) std::ranges::sort(trial.curve, {}, &LapPoint::epoch);
}

// As the job itself sees it (live.json).
void add_progress(RunResults& data) {
    if (data.run.status() != "running") return;
    try {
        auto const view = read_run_view(data.run.directory);
        if (!view || view->status != "training") return;
        data.now.progress = progress_text(view->progress);
        data.now.planned_trials = view->progress.trials;
    } catch (Error const&) {  // a job that is killed may leave half a file
    }
}

bool has_failed(TrialResults const& trial) {
    return trial.status == name_of(TrialStatus::failed) || trial.status == name_of(TrialStatus::diverged);
}

double value_of_trial(TrialResults const& trial, Objective objective) {
    if (!trial.best || has_failed(trial)) return k_no_score;
    return objective == Objective::best ? trial.best->value : trial.curve.back().value;
}

// As in the summary: in a race copies count once they have ended, besides the first.
bool counts(TrialResults const& trial, bool first, Copies const& copies) {
    if (!copies.race || first || has_failed(trial)) return true;
    bool const has_ended = trial.status == name_of(TrialStatus::finished) || trial.status == name_of(TrialStatus::stopped);
    return has_ended && !trial.curve.empty();
}

// The copies of a configuration. Their mean counts only if all of them have a value. Returns the values.
std::vector<double> finish_group(GroupResults& group, RunResults const& data, Copies const& copies) {
    auto const& first = data.trials[group.trials.front()];
    group.assignment = configuration_of(first.assignment);
    group.epochs = first.epochs;
    group.value = first.best ? first.best->value : k_no_score;
    if (copies.count() == 1) return {};
    std::vector<double> values;
    for (auto const i : group.trials) {
        if (!counts(data.trials[i], i == group.trials.front(), copies)) continue;
        values.push_back(value_of_trial(data.trials[i], data.run.experiment.search.objective));
        group.epochs = std::min(group.epochs, data.trials[i].epochs);
    }
    double const count = static_cast<double>(values.size());
    group.value = copies.race || std::ssize(values) == copies.count()
                      ? std::accumulate(values.begin(), values.end(), 0.0) / count
                      : k_no_score;
    double squares = 0;
    for (double const value : values) squares += (value - group.value) * (value - group.value);
    group.spread = values.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
    return values;
}

// By the number of the group; in a race by its first trial.
std::map<int, GroupResults> groups_of(RunResults const& data, Copies const& copies) {
    std::map<int, GroupResults> out;
    std::map<std::string, int> firsts;
    for (std::size_t i = 0; i < data.trials.size(); ++i) {
        auto const& trial = data.trials[i];
        auto number = trial.id.value / copies.count();
        if (copies.race)
            number = firsts.try_emplace(to_json(configuration_of(trial.assignment)).dump(), trial.id.value).first->second;
        out[number].trials.push_back(i);
    }
    return out;
}

void add_groups(RunResults& data) {
    auto const& copies = data.run.experiment.search.copies;
    std::vector<CopyLosses> values;
    for (auto& [number, group] : groups_of(data, copies)) {
        auto of_copies = finish_group(group, data, copies);
        if (std::isfinite(group.value)) {
            data.ranking.push_back(data.groups.size());
            values.push_back(std::move(of_copies));
        }
        data.groups.push_back(std::move(group));
    }
    if (copies.race) {
        auto const means = race_means(values);
        for (std::size_t i = 0; i < means.size(); ++i) data.groups[data.ranking[i]].value = means[i];
    }
    std::ranges::stable_sort(data.ranking, [&](std::size_t a, std::size_t b) {
        return better(data.groups[a].value, data.groups[b].value, data.mode);
    });
}

// As in summary.json: of the best group the trial with the best epoch; without groups that have a mean, of all.
void choose_best(RunResults& data) {
    std::vector<std::size_t> among(data.trials.size());
    std::iota(among.begin(), among.end(), std::size_t{0});
    if (!data.ranking.empty()) among = data.groups[data.ranking.front()].trials;
    for (auto const i : among) {
        auto const& trial = data.trials[i];
        if (!trial.best) continue;
        if (!data.best || better(trial.best->value, data.trials[*data.best].best->value, data.mode)) data.best = i;
    }
}

// Reads the units of every lap. With a damaged file of units, only the pictures of time are missing.
void add_work(RunResults& data, TrialIndex const& index, std::map<TrialId, LossKind> const& losses, RunClock const& clock) {
    Tally tally(data.metric, data.mode, data.run.facts.trainers());
    for (auto const& [from, until] : data.run.journal.jobs.pauses) tally.pause(from, until);
    TimesReader times(data, clock);
    UnitReader units(data.run.directory);
    std::string problem;
    for (auto const& journalled : data.run.journal.laps) {
        auto lap = journalled;
        try {
            if (problem.empty()) lap.units = units.units_of(journalled);
        } catch (DataError const& error) {
            problem = error.what();
        }
        auto const trial = index.at(lap.trial);
        times.add(lap, data.best == trial ? TimesReader::OfTrial::best : TimesReader::OfTrial::another);
        tally.add(lap, losses.at(lap.trial));
        auto const totals = totals_of(lap);
        data.trials[trial].train_s += totals.seconds;
        data.trials[trial].cpu.add({totals.cpu_s, totals.cpu_of_s});
        data.trials[trial].gpu.add({totals.gpu_s, totals.gpu_of_s});
        data.trials[trial].valid_s += validation_s_of(lap);
        data.totals.hop_bytes += lap.hops.bytes;
        ++data.totals.laps;
    }
    data.times = times.take();
    data.times.problem = problem;
    data.totals.makespan_s = tally.makespan_s();
    data.totals.lower_bound_s = tally.lower_bound_s();
    data.totals.utilisation = tally.utilisation();
    for (auto const& trial : data.trials) data.totals.work_s += trial.train_s + trial.valid_s;
    if (tally.units() == 0) data.totals.makespan_s = data.times.end_s;  // the units cannot be read
    data.totals.units = tally.units();
    data.totals.hops = tally.hops();
    data.totals.unit_gap_s = tally.unit_gap_s();
}

// By trial, where the search compares sizes.
std::map<TrialId, std::map<std::string, double>> measures_in(Json const& summary) {
    std::map<TrialId, std::map<std::string, double>> out;
    auto const* trials = summary.find("trials");
    if (trials == nullptr) return out;
    for (auto const& trial : trials->array())
        if (auto const* measures = trial.find("measures"))
            for (auto const& [name, value, _] : measures->object())
                out[TrialId(trial.at("id").integer())][name] = value.number();
    return out;
}

}  // namespace

std::optional<double> RunResults::standard_error() const {
    auto const* trial = best_trial();
    bool const same = errors && trial != nullptr && errors->trial == trial->id.value && errors->epoch == trial->best->epoch;
    return same && errors->metric == metric ? errors->standard_error : std::nullopt;
}

RunResults read_results(std::string const& dir, ComparedMetric const& metric) {
    if (!holds_run(dir))
        throw ConfigError(fmt::format("{}: holds no run (journal.jsonl or experiment.json is missing)", dir));
    RunResults data;
    data.now.read_unix_s = unix_s();
    data.run = read_run(dir);
    data.summary = read_summary(dir);
    auto measures = measures_in(data.summary);
    if (data.summary.is_object())  // those of the journal are read; of thousands they would take as much memory once more
        std::erase_if(data.summary.object(), [](auto const& member) { return member.key == "trials"; });
    data.label = strategy_label(data.run.facts.experiment, data.run.facts.strategy);
    choose_metric(data, metric);
    RunClock const clock(data.run.facts.start_unix_s, data.run.journal.jobs.pauses);
    auto const index = begin_trials(data);
    for (auto& trial : data.trials) trial.sizes.measures = std::move(measures[trial.id]);
    auto const losses = losses_of(data.run.experiment, data.run.journal.assignments);
    add_curves(data, index, losses, clock);
    add_groups(data);
    choose_best(data);
    if (!metric.name.empty() && !data.best)
        throw ConfigError(fmt::format("--metric {}: no trial of {} has it; leave it out", metric.name, dir));
    data.others = other_metrics(data);
    add_progress(data);
    data.errors = read_errors(dir);
    add_work(data, index, losses, clock);
    return data;
}

}  // namespace hopscotch
