// SPDX-License-Identifier: Apache-2.0
// The best trial: of all, or of the best group of copies.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "experiment/config.hpp"
#include "experiment/reader.hpp"
#include "experiment/run_config.hpp"
#include "rundir/tally.hpp"

namespace hopscotch {
namespace {

double spread_of(std::vector<double> const& values, double mean) {
    if (values.size() < 2) return 0;
    double const squares = std::accumulate(values.begin(), values.end(), 0.0,
                                           [&](double sum, double value) { return sum + (value - mean) * (value - mean); });
    return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace

bool keeps_every_best(Experiment const& experiment) {
    return experiment.run.keep_best == KeepBest::trial || experiment.search.copies.count() > 1;
}

bool ranks_before(GroupTally const& a, GroupTally const& b, Mode mode) {
    if (a.trials.size() != b.trials.size()) return a.trials.size() > b.trials.size();
    return better(*a.mean, *b.mean, mode);
}

void Tally::tell_configuration(TrialId trial, Assignment const& assignment) {
    if (comparison_.race) configurations_.try_emplace(trial, configuration_of(assignment));
}

GroupTally Tally::group(std::vector<TrialId> trials) const {
    GroupTally out;
    bool complete = true;
    for (auto const id : trials) {
        auto const& trial = of(id);
        auto const& lap = comparison_.objective == Objective::best ? trial.best : trial.last;
        out.values.push_back(lap ? metric_value(*lap, metric_) : k_no_score);
        complete = complete && !trial.failed && std::isfinite(out.values.back());
    }
    out.trials = std::move(trials);
    if (!complete) return out;
    out.mean = std::accumulate(out.values.begin(), out.values.end(), 0.0) / static_cast<double>(out.values.size());
    out.spread = spread_of(out.values, *out.mean);
    return out;
}

std::vector<GroupTally> Tally::groups() const {
    std::vector<GroupTally> out;
    if (comparison_.copies == 1 || trials_.empty()) return out;
    std::vector<std::vector<TrialId>> groups;
    std::map<std::string, std::size_t> of_configuration;  // in a race
    for (auto const& [trial, configuration] : configurations_) {
        auto const number = of_configuration.try_emplace(to_json(configuration).dump(), groups.size()).first->second;
        groups.resize(std::max(groups.size(), number + 1));
        groups[number].push_back(trial);
    }
    int const copies = comparison_.copies;
    for (int first = 0; !comparison_.race && first <= trials_.rbegin()->first.value; first += copies) {
        auto& group = groups.emplace_back();
        for (int copy = 0; copy < copies; ++copy) group.push_back(TrialId(first + copy));
    }
    for (auto& trials : groups) out.push_back(group(std::move(trials)));
    return out;
}

std::optional<TrialId> Tally::best_of(std::vector<TrialId> const& trials) const {
    std::optional<TrialId> best;
    double best_value = 0;
    for (auto const id : trials) {
        auto const& trial = of(id);
        if (!trial.best) continue;
        auto const value = metric_value(*trial.best, metric_);
        if (best && !better(value, best_value, mode_)) continue;
        best = id;
        best_value = value;
    }
    return best;
}

std::optional<TrialId> Tally::best_trial() const {
    std::optional<GroupTally> best;
    for (auto& each : groups())
        if (each.mean && (!best || ranks_before(each, *best, mode_))) best = std::move(each);
    if (best) return best_of(best->trials);
    std::vector<TrialId> all;
    for (auto const& [id, trial] : trials_) all.push_back(id);
    return best_of(all);
}

}  // namespace hopscotch
