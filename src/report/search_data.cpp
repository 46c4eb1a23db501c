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
#include "search/front.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_pareto_dots = 1000, k_most_important = 20;

// The front of summary.json.
struct FrontPoints {
    std::vector<std::string> names;
    std::vector<int> trials;
    std::vector<std::vector<double>> values;
    Json knee;
};

std::optional<FrontPoints> front_in(Json const& summary) {
    auto const* pareto = summary.find("pareto");
    if (pareto == nullptr) return std::nullopt;
    FrontPoints out;
    for (auto const& name : pareto->at("metrics").array()) out.names.push_back(name.string());
    auto const &trials = pareto->at("trials").array(), &values = pareto->at("values").array();
    if (out.names.size() < 2 || out.names.size() > k_most_objectives || trials.size() != values.size()) return std::nullopt;
    for (std::size_t i = 0; i < trials.size(); ++i) {
        if (values[i].array().size() != out.names.size()) return std::nullopt;
        out.trials.push_back(static_cast<int>(trials[i].integer()));
        auto& row = out.values.emplace_back();
        for (auto const& value : values[i].array()) row.push_back(value.number());
    }
    if (auto const* knee = pareto->find("knee")) out.knee = *knee;  // a run of an earlier version has none
    return out;
}

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

std::optional<std::vector<double>> measures_of(RunResults const& data, TrialResults const& trial,
                                               std::vector<std::string> const& names) {
    std::vector<double> out;
    for (auto const& name : names) {
        auto const value = measure_of(data, trial, name);
        if (!value) return std::nullopt;
        out.push_back(*value);
    }
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

// [[seconds, share]]: of the box between the best and the worst values, what the trials have covered so far. A trial counts
// from the end of its best epoch on.
Json growth_json(RunResults const& data, std::vector<std::string> const& names) {
    auto const& search = data.run.experiment.search;
    std::vector<std::pair<double, Losses>> events;
    for (auto const& trial : data.trials) {
        auto const values = measures_of(data, trial, names);
        auto const* best = best_of_search(data, trial);
        if (!values || best == nullptr) continue;
        Losses losses{};
        for (std::size_t i = 0; i < names.size(); ++i)
            losses[i] = mode_of(search, names[i]) == Mode::max ? -(*values)[i] : (*values)[i];
        if (violation_of(search, *values) == 0) events.emplace_back(best->end_s, losses);
    }
    std::ranges::sort(events);
    std::vector<Losses> all, front;
    for (auto const& [at, losses] : events) all.push_back(losses);
    Json::Array out;
    for (auto const& [at, losses] : events) {
        auto const covers = [&, &mine = losses](Losses const& each) { return each == mine || dominates({each}, {mine}); };
        if (std::ranges::any_of(front, covers)) continue;
        std::erase_if(front, [&, &mine = losses](Losses const& each) { return dominates({mine}, {each}); });
        front.push_back(losses);
        out.emplace_back(Json::Array{rounded_json(at), rounded_json(hypervolume_share(all, front))});
    }
    return out;
}

Json pareto_json(RunResults const& data) {
    auto const front = front_in(data.summary);
    if (!front || front->values.empty()) return {};
    Json::Array on_front, others;
    for (std::size_t i = 0; i < front->values.size(); ++i)
        on_front.push_back(point_json(front->trials[i], front->values[i]));
    for (auto const i : thinned(data.trials.size(), k_most_pareto_dots, 0)) {
        auto const& trial = data.trials[i];
        if (auto const values = measures_of(data, trial, front->names))
            others.push_back(point_json(trial.id.value, *values));
    }
    return Json::object({{"names", Json(front->names)},
                         {"front", std::move(on_front)},
                         {"knee", front->knee},
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
