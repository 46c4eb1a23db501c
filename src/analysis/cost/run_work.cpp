// SPDX-License-Identifier: Apache-2.0
#include "analysis/cost/run_work.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/cost/step_times.hpp"
#include "experiment/strategy_traits.hpp"
#include "rundir/recorded_run.hpp"
#include "rundir/unit_file.hpp"

namespace hopscotch {
namespace {

// The sums over a trial's laps, before they become means.
struct Sums {
    TrialWork work;
    std::map<TrainerId, std::int64_t> steps;
    std::int64_t all_steps = 0, rows = 0;
    double seconds = 0;
};

void add_lap(Sums& sums, LapRecord const& lap, double local_batch) {
    if (lap.outcome == Outcome::finished) ++sums.work.finished_epochs;
    if (lap.units.empty()) return;
    ++sums.work.epochs;
    sums.work.validation_s += lap.valid.seconds;
    sums.work.state_bytes = std::max(sums.work.state_bytes, static_cast<std::int64_t>(lap.state.bytes));
    for (auto const& unit : lap.units) {
        auto const steps = static_cast<std::int64_t>(std::ceil(static_cast<double>(unit.rows) / local_batch));
        sums.steps[unit.trainer] += steps;
        sums.all_steps += steps;
        sums.rows += unit.rows;
        sums.seconds += unit.seconds;  // a group's units do not include its wait for others
    }
}

TrialWork means_of(Sums const& sums, RunWork const& run) {
    auto out = sums.work;
    if (out.epochs == 0 || sums.all_steps == 0) return {};
    out.steps = (sums.all_steps + run.members() - 1) / run.members();
    if (run.group()) {
        out.steps = 0;
        for (auto const& [trainer, steps] : sums.steps) out.steps = std::max(out.steps, steps);
    }
    out.local_rows = static_cast<double>(sums.rows) / static_cast<double>(sums.all_steps);
    out.step_s = sums.seconds / static_cast<double>(sums.all_steps);
    out.validation_s /= static_cast<double>(out.epochs);
    return out;
}

}  // namespace

bool RunWork::group() const { return strategy_traits(strategy.name).training == Training::together; }

int RunWork::members() const { return group() ? workers : strategy.group_size; }

RunWork work_of(RecordedRun const& run) {
    RunWork out;
    auto const& experiment = run.experiment;
    auto const& journal = run.journal;
    out.strategy = experiment.strategy;
    out.owners = run.facts.fleet.owners;
    auto const loads = out.owners.loads();
    auto const workers = std::ranges::count_if(loads, [](double load) { return load > 0; });
    out.workers = std::max(1, static_cast<int>(workers));
    UnitReader units(run.directory);
    std::map<TrialId, Sums> sums;
    auto const released = released_laps(journal);
    for (auto const& lap : journal.laps) {
        auto const [found, is_new] = sums.try_emplace(lap.trial);
        auto& trial = found->second;
        if (is_new) {
            trial.work.assignment = journal.assignments.at(lap.trial);
            trial.work.batch = run.config_of(lap.trial).train.batch_size;
            trial.work.held_out = held_out_of(trial.work.assignment, experiment.search.copies.folds);
            if (auto const lap_of = released.find(lap.id()); lap_of != released.end())
                trial.work.route = lap_of->second->route;
        }
        bool const split = out.members() > 1 && experiment.strategy.batch == GroupBatch::split;
        double const batch = static_cast<double>(trial.work.batch);
        add_lap(trial, units.with_units(lap), split ? std::max(1.0, std::ceil(batch / out.members())) : batch);
    }
    for (auto const& [trial, of_trial] : sums) out.trials[trial] = means_of(of_trial, out);
    return out;
}

double fitted_step_s(std::vector<RunWork> const& runs, std::size_t run, TrialId trial) {
    auto const& own = runs[run].trials.at(trial);
    StepTimes times;
    for (auto const& other : runs) {
        auto const found = other.trials.find(trial);
        if (found == other.trials.end() || found->second.steps == 0) continue;
        auto const& point = found->second;
        times.add(point.local_rows, point.step_s, static_cast<double>(point.steps));
    }
    return times.several_sizes() ? times.fitted().of(own.local_rows) : own.step_s;
}

}  // namespace hopscotch
