// SPDX-License-Identifier: Apache-2.0
// For the pictures of the search procedure.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "experiment/metric.hpp"
#include "experiment/objectives.hpp"
#include "report/importance.hpp"
#include "report/report_data.hpp"
#include "report/sections.hpp"
#include "rundir/summary.hpp"
#include "search/front.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_pareto_dots = 1000, k_most_growth_steps = 200, k_most_important = 20;

// The epoch with the best search.metric, even if the report compares by another metric.
LapPoint const* best_of_search(RunResults const& data, TrialResults const& trial) {
    auto const& search = data.run.experiment.search;
    auto const value = [&](LapPoint const& point) { return metric_value(point.metrics, search.metric); };
    LapPoint const* best = nullptr;
    for (auto const& point : trial.curve)
        if (std::isfinite(value(point)) && (best == nullptr || better(value(point), value(*best), search.mode)))
            best = &point;
    return best;
}

// Values of the other trials, as far as the run directory has them. None: one is not known.
std::optional<double> measure_of(RunResults const& data, TrialResults const& trial, std::string const& name) {
    if (auto const known = trial.sizes.measures.find(name); known != trial.sizes.measures.end()) return known->second;
    if (name == "train_s") return trial.train_s;
    if (name == "state_mb") return static_cast<double>(trial.sizes.state_bytes) / 1e6;
    auto const* best = is_metric(name) || may_be_own_metric(name) ? best_of_search(data, trial) : nullptr;
    auto const value = best == nullptr ? k_no_score : metric_value(best->metrics, name);
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// Of a configuration: the means of its copies.
std::optional<std::vector<double>> measures_of(RunResults const& data, GroupResults const& group,
                                               std::vector<std::string> const& names) {
    std::vector<double> out(names.size(), 0.0);
    for (auto const trial : group.trials)
        for (std::size_t i = 0; i < names.size(); ++i) {
            auto const value = measure_of(data, data.trials[trial], names[i]);
            if (!value) return std::nullopt;
            out[i] += *value / static_cast<double>(group.trials.size());
        }
    return out;
}

// When the best epochs of its trials have ended.
double known_at(RunResults const& data, GroupResults const& group) {
    double out = 0;
    for (auto const trial : group.trials)
        if (auto const* best = best_of_search(data, data.trials[trial])) out = std::max(out, best->end_s);
    return out;
}

// Groups that trained longer are better; of equals those with the better value. That is fair to trials that were stopped.
std::vector<int> ranks_by_length(RunResults const& data) {
    auto order = data.ranking;
    std::ranges::stable_sort(order, [&](auto a, auto b) { return data.groups[a].epochs > data.groups[b].epochs; });
    std::vector<int> out(data.groups.size(), -1);
    for (std::size_t i = 0; i < order.size(); ++i) {
        auto const& group = data.groups[order[i]];
        bool const equal =
            i > 0 && data.groups[order[i - 1]].epochs == group.epochs && data.groups[order[i - 1]].value == group.value;
        out[order[i]] = equal ? out[order[i - 1]] : static_cast<int>(i);
    }
    return out;
}

// Laps that begin with the state after another lap, and that lap.
std::map<LapId, LapId> clones_in(Journal const& journal) {
    std::map<LapId, LapId> out;
    for (auto const& lap : journal.released)
        if (lap.clone_of) out[lap.id()] = *lap.clone_of;
    return out;
}

Json point_json(int trial, std::vector<double> const& values) {
    Json::Array out{trial};
    for (double const value : values) out.push_back(rounded_json(value, 7));
    return out;
}

// [[seconds, share]]: of the box between the best and the worst values, what the trials that meet search.subject_to have
// covered so far. A configuration counts from the end of its best epoch on.
Json growth_json(RunResults const& data, std::vector<std::string> const& names) {
    auto const& search = data.run.experiment.search;
    std::vector<std::pair<double, Losses>> events;
    std::vector<Losses> all;
    for (auto const& group : data.groups) {
        auto const values = measures_of(data, group, names);
        if (!values) continue;
        Losses losses{};
        for (std::size_t i = 0; i < names.size(); ++i)
            losses[i] = mode_of(search, names[i]) == Mode::max ? -(*values)[i] : (*values)[i];
        all.push_back(losses);
        if (violation_of(search, *values) == 0) events.emplace_back(known_at(data, group), losses);
    }
    std::ranges::sort(events);
    std::vector<Losses> front;
    Json::Array out;
    auto const each = events.size() / k_most_growth_steps + 1;  // a picture needs no more steps
    bool grown = false;                                         // since the last step
    for (std::size_t i = 0; i < events.size(); ++i) {
        auto const& [at, losses] = events[i];
        auto const covers = [&, &mine = losses](Losses const& other) { return other == mine || dominates({other}, {mine}); };
        if (!std::ranges::any_of(front, covers)) {
            grown = true;
            std::erase_if(front, [&, &mine = losses](Losses const& other) { return dominates({mine}, {other}); });
            front.push_back(losses);
        }
        if (!grown || ((i + 1) % each != 0 && i + 1 < events.size())) continue;
        out.emplace_back(Json::Array{rounded_json(at), rounded_json(hypervolume_share(all, front))});
        grown = false;
    }
    return out;
}

Json pareto_json(RunResults const& data) {
    auto const front = pareto_from_json(data.summary);
    if (!front || front->points.empty()) return {};
    Json::Array on_front, others;
    for (auto const& point : front->points) on_front.push_back(point_json(point.trial.value, point.values));
    for (auto const i : thinned(data.groups.size(), k_most_pareto_dots, 0)) {
        auto const& group = data.groups[i];
        if (auto const values = measures_of(data, group, front->names))
            others.push_back(point_json(data.trials[group.trials.front()].id.value, *values));
    }
    return Json::object({{"names", Json(front->names)},
                         {"front", std::move(on_front)},
                         {"knee", front->knee ? Json(front->knee->value) : Json()},
                         {"missesBounds", front->misses_bounds},
                         {"others", std::move(others)},
                         {"growth", growth_json(data, front->names)}});
}

// [[key, share]], the largest first. Of one key there is nothing to say.
Json importance_json(RunResults const& data) {
    auto const keys = key_columns(data, KeyColumns::varied);
    auto const shares = importance_of(keys, ranks_by_length(data));
    if (keys.size() < 2 || shares.empty()) return Json::Array{};
    std::vector<std::size_t> order(keys.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](auto a, auto b) { return shares[a] > shares[b]; });
    order.resize(std::min(order.size(), k_most_important));
    Json::Array out;
    for (auto const i : order) out.emplace_back(Json::Array{keys[i].name, rounded_json(shares[i])});
    return out;
}

}  // namespace

void add_search_data(Json& out, RunResults const& data) {
    out["importance"] = importance_json(data);
    out["importanceFrom"] = static_cast<std::int64_t>(data.ranking.size());
    out["pareto"] = pareto_json(data);
    Json::Array clones, lengths;
    for (auto const& [lap, source] : clones_in(data.run.journal))
        clones.emplace_back(Json::Array{lap.trial.value, lap.epoch, source.trial.value, source.epoch});
    for (auto const& trial : data.trials) lengths.emplace_back(trial.epochs);
    out["clones"] = std::move(clones);
    out["lengths"] = has_rungs(data) ? Json(std::move(lengths)) : Json();
}

}  // namespace hopscotch
