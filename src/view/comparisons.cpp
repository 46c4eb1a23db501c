// SPDX-License-Identifier: Apache-2.0
#include "view/comparisons.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "experiment/config.hpp"
#include "experiment/measures.hpp"
#include "experiment/metric.hpp"
#include "experiment/objectives.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/space.hpp"
#include "rundir/summary.hpp"
#include "search/ablation.hpp"
#include "search/front.hpp"
#include "view/leaderboard.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_fewest_for_a_knee = 3;

double value_of(TrialSummary const& trial, std::string const& name) {
    if (is_metric(name) || may_be_own_metric(name))
        return trial.tally.best ? metric_value(*trial.tally.best, name) : k_no_score;
    if (name == "train_s") return trial.tally.best ? trial.tally.train_s : k_no_score;
    auto const found = trial.measures.find(name);
    return found == trial.measures.end() ? k_no_score : found->second;
}

// By group, or by trial where there are no copies.
std::optional<double> result_of(Summary const& summary, std::size_t number) {
    if (!summary.groups.empty()) return number < summary.groups.size() ? summary.groups[number].mean : std::nullopt;
    if (number >= summary.trials.size() || !summary.trials[number].tally.best) return std::nullopt;
    return metric_value(*summary.trials[number].tally.best, summary.result.metric);
}

}  // namespace

namespace {

// A trial, or the copies of a configuration.
struct Candidate {
    TrialId trial;               // the first
    std::vector<double> values;  // means; NaN: one copy has none
    int epochs = 0;              // of the first
};

std::vector<Candidate> candidates_of(Summary const& summary, std::vector<std::string> const& names) {
    std::vector<std::vector<TrialId>> groups;
    for (auto const& group : summary.groups) groups.push_back(group.trials);
    if (summary.groups.empty())
        for (auto const& trial : summary.trials) groups.push_back({trial.id});
    std::vector<Candidate> out;
    for (auto const& trials : groups) {
        auto& candidate = out.emplace_back(trials.front(), std::vector<double>(names.size(), 0.0),
                                           summary.trials.at(trials.front().index()).tally.epochs);
        for (auto const trial : trials)
            for (std::size_t i = 0; i < names.size(); ++i)
                candidate.values[i] +=
                    value_of(summary.trials.at(trial.index()), names[i]) / static_cast<double>(trials.size());
    }
    return out;
}

Point point_of(SearchConfig const& search, std::vector<double> const& values) {
    Point out;
    for (std::size_t i = 0; i < values.size(); ++i)
        out.losses[i] = mode_of(search, search.front.names[i]) == Mode::max ? -values[i] : values[i];
    out.violation = violation_of(search, values);
    return out;
}

}  // namespace

std::optional<ParetoFront> pareto_of(Summary const& summary, SearchConfig const& search) {
    ParetoFront out{search.front.names};
    auto const is_unknown = [&](TrialSummary const& trial) {
        return std::ranges::any_of(out.names,
                                   [&](auto const& name) { return is_measure(name) && !trial.measures.contains(name); });
    };
    if (out.names.empty() || std::ranges::all_of(summary.trials, is_unknown)) return std::nullopt;
    auto const candidates = candidates_of(summary, out.names);
    std::vector<Point> points;
    std::vector<Losses> losses, all;
    for (auto const& each : candidates) {
        points.push_back(point_of(search, each.values));
        all.push_back(points.back().losses);
    }
    for (auto const i : pareto_front(points)) {
        out.points.push_back({candidates[i].trial, candidates[i].values, candidates[i].epochs});
        losses.push_back(points[i].losses);
        out.misses_bounds = points[i].violation > 0;
    }
    if (losses.size() >= k_fewest_for_a_knee) out.knee = out.points[knee(losses)].trial;
    out.hypervolume = out.misses_bounds ? 0 : hypervolume_share(all, losses);
    out.compared = candidates.size();
    out.steers = search.front.compares;
    return out;
}

std::vector<AblationRow> ablation_of(Summary const& summary, Experiment const& experiment) {
    std::vector<AblationRow> out;
    if (sampler_traits(experiment.search.sampler).configurations != Configurations::one_changed) return out;
    Problems told("");  // errors of the space were reported when the experiment was read
    auto const copies = static_cast<std::size_t>(experiment.search.copies.count());
    auto const whole = result_of(summary, 0);
    for (auto const& change : ablations(read_space(experiment, told))) {
        if (change.path.empty()) continue;
        std::size_t i = 1;
        while (i * copies < summary.trials.size() &&
               configuration_of(summary.trials[i * copies].assignment) != change.assignment)
            ++i;
        if (i * copies >= summary.trials.size()) continue;
        AblationRow row{change.path, change.value, TrialId(i * copies), std::nullopt};
        if (auto const result = result_of(summary, i); result && whole) row.difference = *result - *whole;
        out.push_back(std::move(row));
    }
    return out;
}

std::string pareto_text(Summary const& summary) {
    return summary.pareto ? pareto_text(*summary.pareto, summary.groups.empty() ? "trials" : "configurations") : "";
}

std::string pareto_text(ParetoFront const& front, std::string_view compared) {
    auto const& names = front.names;
    auto out = fmt::format("Pareto front of {} and {}: {} of {} {}, hypervolume {:.4g}\n",
                           fmt::join(names.begin(), names.end() - 1, ", "), names.back(), front.points.size(),
                           front.compared, compared, front.hypervolume);
    if (front.misses_bounds) out += "     no trial meets search.subject_to; these miss it by the least\n";
    out += "     trial  epochs";
    for (auto const& name : names) out += fmt::format("  {:>12}", name);
    for (std::size_t i = 0; i < std::min(front.points.size(), k_leaderboard_rows); ++i) {
        auto const& point = front.points[i];
        out += fmt::format("\n     {:>5}  {:>6}", point.trial.value, point.epochs);
        for (std::size_t k = 0; k < names.size(); ++k)
            out +=
                fmt::format("  {:>{}}", fmt::format("{:.6g}", point.values[k]), std::max<std::size_t>(names[k].size(), 12));
        if (point.trial == front.knee) out += "  knee";
    }
    if (front.points.size() > k_leaderboard_rows)
        out += fmt::format("\n     ... {} more", front.points.size() - k_leaderboard_rows);
    return out + "\n";
}

std::string ablation_text(Summary const& summary) {
    if (summary.ablation.empty()) return "";
    auto const whole = result_of(summary, 0);
    auto out = fmt::format("what each part is worth: {} against trial 0 ({})\n", summary.result.metric,
                           whole ? fmt::format("{:.4f}", *whole) : "which has none");
    for (auto const& row : summary.ablation)
        out += fmt::format("     {:>5}  {:>9}  {}\n", row.trial.value,
                           row.difference ? fmt::format("{:+.4f}", *row.difference) : "none",
                           short_config({{row.key, row.value}}));
    return out;
}

}  // namespace hopscotch
