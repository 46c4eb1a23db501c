// SPDX-License-Identifier: Apache-2.0
#include "analysis/what_if/known_trials.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "core/error.hpp"
#include "experiment/objectives.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/space.hpp"
#include "rundir/recorded_run.hpp"
#include "schedule/lap_metric.hpp"
#include "view/leaderboard.hpp"

namespace hopscotch {
namespace {

// How far each trial would train when it started, by the decisions of the search. pbt trains past them.
std::map<TrialId, int> first_goals(RecordedRun const& run) {
    std::map<TrialId, int> out;
    if (procedure_traits(run.experiment.search.procedure).clones) return out;
    for (auto const& decision : run.journal.decisions)
        if (decision.kind == Decision::Kind::start) out[decision.trial] = decision.until_epoch;
    return out;
}

}  // namespace

double KnownTrials::value_of(LapRecord const& record, KnownTrial const& trial) const {
    if (record.outcome != Outcome::finished) return k_no_score;
    return lap_metric(record, experiment.search.metric, trial.loss);
}

std::optional<Point> KnownTrials::point_of(LapRecord const& record, KnownTrial const& trial) const {
    auto const objectives = objectives_of(experiment.search);
    if (objectives.empty() || record.outcome != Outcome::finished) return std::nullopt;
    Point out;
    std::vector<double> values;
    for (std::size_t i = 0; i < objectives.size(); ++i) {
        auto const& each = objectives[i];
        auto const known = trial.measures.find(each.name);
        if (!each.is_metric && known == trial.measures.end()) return std::nullopt;
        values.push_back(each.is_metric ? lap_metric(record, each.name, trial.loss) : known->second);
        out.losses[i] = each.loss(values[i]);
        if (!std::isfinite(out.losses[i])) return std::nullopt;
    }
    out.violation = violation_of(experiment.search, values);
    return out;
}

std::int64_t KnownTrials::epochs() const {
    std::int64_t out = 0;
    for (auto const& trial : trials) out += std::ssize(trial.laps);
    return out;
}

namespace {

// Sizes and costs, which the summary of a job has.
void add_measures(RecordedRun const& run, std::map<TrialId, KnownTrial>& trials) {
    auto const summary = read_summary(run.directory);
    auto const* listed = summary.find("trials");
    if (listed == nullptr) return;
    for (auto const& trial : listed->array()) {
        auto const* measures = trial.find("measures");
        auto const found = trials.find(TrialId(trial.at("id").integer()));
        if (measures == nullptr || found == trials.end()) continue;
        for (auto const& [name, value, _] : measures->object()) found->second.measures[name] = value.number();
    }
}

}  // namespace

KnownTrials known_trials(RecordedRun const& run) {
    KnownTrials out{run.directory.string(), run.experiment.search.metric, run.experiment, {}, 1};
    out.shards = static_cast<int>(run.facts.fleet.owners.owner.size()) / run.experiment.strategy.group_size;
    bool const clones = procedure_traits(run.experiment.search.procedure).clones;
    auto const goals = first_goals(run);
    std::map<TrialId, KnownTrial> trials;
    for (auto const& lap : run.journal.released) {
        if (lap.clone_of && !clones)
            throw ConfigError(
                fmt::format("{}: cannot be played (trial {} is a clone that a user ordered, so its results "
                            "belong to two configurations); use a run without clones",
                            out.source, lap.trial.value));
        auto const [at, is_new] = trials.try_emplace(lap.trial);
        if (!is_new) continue;
        at->second.assignment = lap.assignment;
        at->second.text = short_config(lap.assignment);
        at->second.loss = loss_of(run.experiment, lap.assignment);
        auto const goal = goals.find(lap.trial);
        int const epochs = goal == goals.end() ? run.config_of(lap.trial).train.epochs : goal->second;
        at->second.unit_cost = lap.remaining_cost / out.shards / epochs;
    }
    for (auto const& record : run.journal.laps) {
        auto& laps = trials.at(record.trial).laps;
        auto const at = static_cast<std::size_t>(record.epoch);
        if (at < laps.size() && laps[at].outcome != Outcome::finished) laps.resize(at);  // it was tried again
        if (at == laps.size()) laps.push_back(record);                                   // else trained again, after a loss
    }
    add_measures(run, trials);
    for (auto& [id, trial] : trials)
        if (!trial.laps.empty()) out.trials.push_back(std::move(trial));
    if (out.trials.empty())
        throw ConfigError(fmt::format("{}: has no finished epoch (there is nothing to play a search on)", out.source));
    return out;
}

}  // namespace hopscotch
