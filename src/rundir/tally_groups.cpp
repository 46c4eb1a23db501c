// SPDX-License-Identifier: Apache-2.0
// The best trial: of all, or of the best group of copies.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "experiment/config.hpp"
#include "experiment/reader.hpp"
#include "experiment/run_config.hpp"
#include "rundir/tally.hpp"
#include "search/race.hpp"

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

void Tally::tell_configuration(TrialId trial, Assignment const& assignment) {
    if (comparison_.race) configurations_.try_emplace(trial, configuration_of(assignment));
}

GroupTally Tally::group(std::vector<TrialId> trials) const {
    GroupTally out;
    std::vector<double> counted;
    bool complete = true;
    for (auto const id : trials) {
        auto const& trial = of(id);
        auto const& lap = comparison_.objective == Objective::best ? trial.best : trial.last;
        bool const counts = !comparison_.race || id == trials.front() || ended_.contains(id);
        out.values.push_back(lap && counts ? metric_value(*lap, metric_) : k_no_score);
        complete = complete && !trial.failed && (!counts || std::isfinite(out.values.back()));
        if (counts) counted.push_back(out.values.back());
    }
    out.trials = std::move(trials);
    if (!complete) return out;
    out.mean = std::accumulate(counted.begin(), counted.end(), 0.0) / static_cast<double>(counted.size());
    out.spread = spread_of(counted, *out.mean);
    return out;
}

std::vector<GroupTally> Tally::racing_groups() const {
    std::vector<std::vector<TrialId>> trials;
    std::map<std::string, std::size_t> numbers;
    for (auto const& [trial, configuration] : configurations_) {
        auto const number = numbers.try_emplace(to_json(configuration).dump(), trials.size()).first->second;
        trials.resize(std::max(trials.size(), number + 1));
        trials[number].push_back(trial);
    }
    std::vector<GroupTally> out;
    std::vector<std::size_t> with_mean;
    std::vector<CopyLosses> values;
    for (auto& each : trials) {
        out.push_back(group(std::move(each)));
        if (!out.back().mean) continue;
        with_mean.push_back(out.size() - 1);
        auto& copies = values.emplace_back();
        for (auto const value : out.back().values)
            if (std::isfinite(value)) copies.push_back(value);
    }
    auto const means = race_means(values);
    for (std::size_t i = 0; i < means.size(); ++i) out[with_mean[i]].mean = means[i];
    return out;
}

std::vector<GroupTally> Tally::groups() const {
    std::vector<GroupTally> out;
    if (comparison_.copies == 1 || trials_.empty()) return out;
    if (comparison_.race) return racing_groups();
    int const copies = comparison_.copies;
    for (int first = 0; first <= trials_.rbegin()->first.value; first += copies) {
        std::vector<TrialId> trials;
        for (int copy = 0; copy < copies; ++copy) trials.push_back(TrialId(first + copy));
        out.push_back(group(std::move(trials)));
    }
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
        if (each.mean && (!best || better(*each.mean, *best->mean, mode_))) best = std::move(each);
    if (best) return best_of(best->trials);
    std::vector<TrialId> all;
    for (auto const& [id, trial] : trials_) all.push_back(id);
    return best_of(all);
}

}  // namespace hopscotch
