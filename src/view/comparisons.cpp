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

std::optional<ParetoFront> pareto_of(Summary const& summary, SearchConfig const& search) {
    ParetoFront out{search.front.names, {}, {}, 0};
    auto const is_unknown = [&](TrialSummary const& trial) {
        return std::ranges::any_of(out.names,
                                   [&](auto const& name) { return is_measure(name) && !trial.measures.contains(name); });
    };
    if (out.names.empty() || std::ranges::all_of(summary.trials, is_unknown)) return std::nullopt;
    std::vector<Point> points;
    std::vector<std::vector<double>> values;
    for (auto const& trial : summary.trials) {
        auto& row = values.emplace_back();
        auto& point = points.emplace_back();
        for (std::size_t i = 0; i < out.names.size(); ++i) {
            row.push_back(value_of(trial, out.names[i]));
            point.losses[i] = mode_of(search, out.names[i]) == Mode::max ? -row[i] : row[i];
        }
        point.violation = violation_of(search, row);
    }
    auto const front = pareto_front(points);
    std::vector<Losses> losses, all;
    for (auto const& point : points) all.push_back(point.losses);
    for (auto const i : front) {
        out.points.push_back({summary.trials[i].id, values[i]});
        losses.push_back(points[i].losses);
    }
    if (front.size() >= k_fewest_for_a_knee) out.knee = out.points[knee(losses)].trial;
    out.hypervolume = hypervolume_share(all, losses);
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
    if (!summary.pareto) return "";
    auto const& front = *summary.pareto;
    auto const& names = front.names;
    auto out = fmt::format("Pareto front of {} and {}: {} of {} trials\n", fmt::join(names.begin(), names.end() - 1, ", "),
                           names.back(), front.points.size(), summary.trials.size());
    for (std::size_t i = 0; i < std::min(front.points.size(), k_leaderboard_rows); ++i) {
        auto const& point = front.points[i];
        out += fmt::format("     {:>5}  ", point.trial.value);
        for (std::size_t k = 0; k < names.size(); ++k)
            out += fmt::format("{}{} {:.6g}", k > 0 ? ", " : "", names[k], point.values[k]);
        out += point.trial == front.knee ? "  (the knee: nearest to the best of all)\n" : "\n";
    }
    if (front.points.size() > k_leaderboard_rows)
        out += fmt::format("     ... {} more\n", front.points.size() - k_leaderboard_rows);
    return out;
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
