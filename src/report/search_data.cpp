// SPDX-License-Identifier: Apache-2.0
// For the pictures of the search procedure.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "experiment/metric.hpp"
#include "report/importance.hpp"
#include "report/report_data.hpp"
#include "report/sections.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_pareto_dots = 1000, k_most_important = 20;

// The points of summary.json: {"metrics": [a, b], "trials": [...], "values": [[...]]}.
struct FrontPoints {
    std::array<std::string, 2> names;
    std::vector<int> trials;
    std::vector<std::array<double, 2>> values;
};

std::optional<FrontPoints> front_of(Json const& summary) {
    auto const* pareto = summary.find("pareto");
    if (pareto == nullptr) return std::nullopt;
    FrontPoints out;
    auto const& names = pareto->at("metrics").array();
    auto const &trials = pareto->at("trials").array(), &values = pareto->at("values").array();
    if (names.size() != 2 || trials.size() != values.size()) return std::nullopt;
    out.names = {names[0].string(), names[1].string()};
    for (std::size_t i = 0; i < trials.size(); ++i) {
        if (values[i].array().size() != 2) return std::nullopt;
        out.trials.push_back(static_cast<int>(trials[i].integer()));
        out.values.push_back({values[i].array()[0].number(), values[i].array()[1].number()});
    }
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

// Values of the other trials, as far as the journal has them: metrics, seconds and bytes.
std::optional<double> measure_of(RunResults const& data, TrialResults const& trial, std::string const& name) {
    if (name == "train_s") return trial.train_s;
    if (name == "state_mb") return static_cast<double>(trial.state_bytes) / 1e6;
    auto const* best = is_metric(name) || may_be_own_metric(name) ? best_of_search(data, trial) : nullptr;
    auto const value = best == nullptr ? k_no_score : metric_value(best->metrics, name);
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
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

Json point_json(int trial, double x, double y) { return Json::Array{trial, rounded_json(x, 7), rounded_json(y, 7)}; }

Json pareto_json(RunResults const& data) {
    auto const front = front_of(data.summary);
    if (!front || front->values.empty()) return {};
    Json::Array on_front, others;
    for (std::size_t i = 0; i < front->values.size(); ++i)
        on_front.push_back(point_json(front->trials[i], front->values[i][0], front->values[i][1]));
    for (auto const i : thinned(data.trials.size(), k_most_pareto_dots, 0)) {
        auto const& trial = data.trials[i];
        auto const x = measure_of(data, trial, front->names[0]), y = measure_of(data, trial, front->names[1]);
        if (x && y) others.push_back(point_json(trial.id.value, *x, *y));
    }
    return Json::object({{"names", Json::Array{front->names[0], front->names[1]}},
                         {"front", std::move(on_front)},
                         {"others", std::move(others)}});
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
