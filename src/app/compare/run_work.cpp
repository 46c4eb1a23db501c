// SPDX-License-Identifier: Apache-2.0
#include "app/compare/run_work.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "core/error.hpp"
#include "experiment/reader.hpp"
#include "run/journal.hpp"

namespace hopscotch {
namespace {

Experiment experiment_of(ComparedRun const& run) {
    Problems problems((std::filesystem::path(run.dir) / "experiment.json").string());
    auto experiment = read_experiment(run.experiment().dump(), {}, problems);
    if (!problems.empty()) throw DataError(problems.text());
    return experiment;
}

// Of each trainer's seconds in units, the part that was computation. A group's units hold waits for the others.
std::vector<double> computing_share(ComparedRun const& run, RunWork const& work, Journal const& journal) {
    std::vector<double> seconds(static_cast<std::size_t>(run.trainers()), 0.0), share(seconds.size(), 1.0);
    for (auto const& lap : journal.laps)
        for (auto const& unit : lap.units)
            if (unit.trainer.index() < seconds.size()) seconds[unit.trainer.index()] += unit.seconds;
    auto const* exposed = run.summary.find("exposed_s");
    if (!work.group() || exposed == nullptr || !exposed->is_array()) return share;
    for (std::size_t t = 0; t < std::min(share.size(), exposed->array().size()); ++t)
        if (auto const& waited = exposed->array()[t]; waited.is_number() && seconds[t] > 0)
            share[t] = std::clamp(1 - waited.number() / seconds[t], 0.0, 1.0);
    return share;
}

// What is summed up over a trial's laps before it becomes means.
struct Sums {
    TrialWork work;
    std::map<TrainerId, std::int64_t> steps;
    std::int64_t all_steps = 0, rows = 0;
    double seconds = 0;
};

void add_lap(Sums& sums, LapRecord const& lap, double local_batch, std::vector<double> const& share) {
    if (lap.units.empty()) return;
    ++sums.work.epochs;
    sums.work.validation_s += lap.valid_seconds;
    sums.work.state_bytes = std::max(sums.work.state_bytes, static_cast<std::int64_t>(lap.state_bytes));
    for (auto const& unit : lap.units) {
        auto const steps = static_cast<std::int64_t>(std::ceil(static_cast<double>(unit.rows) / local_batch));
        sums.steps[unit.trainer] += steps;
        sums.all_steps += steps;
        sums.rows += unit.rows;
        sums.seconds += unit.seconds * (unit.trainer.index() < share.size() ? share[unit.trainer.index()] : 1);
    }
}

TrialWork means_of(Sums const& sums, bool group) {
    auto out = sums.work;
    if (out.epochs == 0 || sums.all_steps == 0) return {};
    out.steps = sums.all_steps;
    if (group) {
        out.steps = 0;
        for (auto const& [trainer, steps] : sums.steps) out.steps = std::max(out.steps, steps);
    }
    out.local_rows = static_cast<double>(sums.rows) / static_cast<double>(sums.all_steps);
    out.step_s = sums.seconds / static_cast<double>(sums.all_steps);
    out.validation_s /= static_cast<double>(out.epochs);
    return out;
}

}  // namespace

bool RunWork::group() const {
    return strategy.name == "allreduce" || strategy.name == "parameter_server" || strategy.name == "model_averaging";
}

RunWork read_work(ComparedRun const& run) {
    RunWork out;
    auto const experiment = experiment_of(run);
    out.strategy = experiment.strategy;
    out.owners.trainers = run.trainers();
    std::set<TrainerId> workers;
    for (auto const& owner : run.facts.at("owners").array()) {
        out.owners.owner.emplace_back(owner.integer());
        workers.insert(out.owners.owner.back());
    }
    out.workers = std::max(1, static_cast<int>(workers.size()));
    auto const journal = read_journal(std::filesystem::path(run.dir) / "journal.jsonl");
    auto const share = computing_share(run, out, journal);
    std::map<TrialId, Sums> sums;
    for (auto const& lap : journal.laps) {
        auto& trial = sums[lap.trial];
        Problems problems(run.dir);
        trial.work.batch = resolve(experiment, journal.assignments.at(lap.trial), problems).train.batch_size;
        bool const split = out.group() && experiment.strategy.batch == GroupBatch::split;
        double const batch = static_cast<double>(trial.work.batch);
        add_lap(trial, lap, split ? std::max(1.0, std::ceil(batch / out.workers)) : batch, share);
    }
    for (auto const& [trial, of_trial] : sums) out.trials[trial] = means_of(of_trial, out.group());
    return out;
}

double fitted_step_s(std::vector<RunWork> const& runs, std::size_t run, TrialId trial) {
    auto const& own = runs[run].trials.at(trial);
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (auto const& other : runs) {
        auto const found = other.trials.find(trial);
        if (found == other.trials.end() || found->second.steps == 0) continue;
        auto const& point = found->second;
        double const weight = static_cast<double>(point.steps);
        n += weight;
        x += weight * point.local_rows;
        y += weight * point.step_s;
        xx += weight * point.local_rows * point.local_rows;
        xy += weight * point.local_rows * point.step_s;
    }
    double const spread = n * xx - x * x;
    if (spread <= 1e-9 * n * xx) return own.step_s;
    double const per_row = (n * xy - x * y) / spread, fixed = (y - per_row * x) / n;
    return per_row < 0 || fixed < 0 ? own.step_s : fixed + per_row * own.local_rows;
}

}  // namespace hopscotch
