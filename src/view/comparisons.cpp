// SPDX-License-Identifier: Apache-2.0
#include "view/comparisons.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiment/config.hpp"
#include "experiment/measures.hpp"
#include "experiment/metric.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/space.hpp"
#include "rundir/summary.hpp"
#include "search/ablation.hpp"
#include "search/pareto.hpp"
#include "view/leaderboard.hpp"

namespace hopscotch {
namespace {

double value_of(TrialSummary const& trial, std::string_view name, std::map<TrialId, Measures> const& measures) {
    if (is_metric(name) || may_be_own_metric(name))
        return trial.tally.best ? metric_value(*trial.tally.best, name) : k_no_score;
    if (name == "train_s") return trial.tally.best ? trial.tally.train_s : k_no_score;
    auto const found = measures.find(trial.id);
    if (found == measures.end()) return k_no_score;
    return value_of(found->second, name);
}

// The search's own mode for its metric; sizes and seconds are better when they are smaller.
Mode mode_of(std::string const& name, SearchConfig const& search) {
    if (name == search.metric) return search.mode;
    if (auto const own = search.pareto.own_modes.find(name); own != search.pareto.own_modes.end()) return own->second;
    return is_metric(name) ? natural_mode(name) : Mode::min;
}

// By group, or by trial where there are no copies.
std::optional<double> result_of(Summary const& summary, std::size_t number) {
    if (!summary.groups.empty()) return number < summary.groups.size() ? summary.groups[number].mean : std::nullopt;
    if (number >= summary.trials.size() || !summary.trials[number].tally.best) return std::nullopt;
    return metric_value(*summary.trials[number].tally.best, summary.result.metric);
}

}  // namespace

std::optional<ParetoFront> pareto_of(Summary const& summary, SearchConfig const& search,
                                     std::map<TrialId, Measures> const& measures) {
    auto const known = measure_names();
    bool const sizes = std::ranges::find_first_of(search.pareto.names, known) != search.pareto.names.end();
    if (search.pareto.names.size() != 2 || (sizes && measures.empty())) return std::nullopt;
    ParetoFront out{{search.pareto.names[0], search.pareto.names[1]}, {}};
    std::vector<TwoValues> points;
    for (auto const& trial : summary.trials)
        points.push_back({value_of(trial, out.names[0], measures), value_of(trial, out.names[1], measures)});
    for (auto const i : pareto_front(points, {mode_of(out.names[0], search), mode_of(out.names[1], search)}))
        out.points.push_back({summary.trials[i].id, points[i]});
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
    auto const& [names, points] = *summary.pareto;
    auto out = fmt::format("Pareto front of {} and {}: {} of {} trials\n", names[0], names[1], points.size(),
                           summary.trials.size());
    for (std::size_t i = 0; i < std::min(points.size(), k_leaderboard_rows); ++i)
        out += fmt::format("     {:>5}  {} {:.6g}, {} {:.6g}\n", points[i].trial.value, names[0], points[i].values[0],
                           names[1], points[i].values[1]);
    if (points.size() > k_leaderboard_rows) out += fmt::format("     ... {} more\n", points.size() - k_leaderboard_rows);
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
