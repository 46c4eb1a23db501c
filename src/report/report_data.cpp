// SPDX-License-Identifier: Apache-2.0
#include "report/report_data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "experiment/metric.hpp"
#include "report/key_columns.hpp"
#include "report/page_text.hpp"
#include "report/sections.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_log_lines = 40, k_most_points = 120, k_whole_curves = 5, k_most_keys = 24,
                      k_most_drawn_classes = 50, k_most_drawn_targets = 8, k_most_spots = 1000;
constexpr double k_most_numbers = 19e3;  // of the first metric by epoch, and of all others together: 125 kB each
constexpr int k_time_digits = 6, k_place_digits = 7;

// By trial: the decisions of the search and of users, and its end.
std::map<TrialId, Json::Array> logs_of(RunResults const& data) {
    std::map<TrialId, Json::Array> out;
    for (auto const& decision : data.run.journal.decisions) {
        auto& log = out[decision.trial];
        if (log.size() >= k_most_log_lines) continue;
        auto const when = decision.epoch < 0 ? std::string() : fmt::format("after epoch {}: ", decision.epoch);
        auto const why = decision.why.empty() ? "" : fmt::format(" ({})", cut_text(decision.why, 200));
        log.emplace_back(fmt::format("{}{}{}", when, name_of(decision.kind), why));
    }
    for (auto const& [trial, count] : data.run.journal.retries)
        out[trial].emplace_back(fmt::format("went back to its checkpoint {} times, by no fault of its own", count));
    for (auto const& end : data.run.journal.ended)
        out[end.trial].emplace_back(end.reason.empty() ? end.status
                                                       : fmt::format("{}: {}", end.status, cut_text(end.reason, 400)));
    return out;
}

// The groups that come first in the leaderboard, with all their trials, as long as there is room: indices, best first.
struct ListedTrials {
    std::vector<std::size_t> groups, trials;
};
ListedTrials listed_trials(RunResults const& data) {
    ListedTrials out;
    for (auto const g : groups_by_place(data)) {
        auto const& trials = data.groups[g].trials;
        if (out.trials.size() + trials.size() > k_most_listed) break;
        out.groups.push_back(g);
        out.trials.insert(out.trials.end(), trials.begin(), trials.end());
    }
    std::ranges::sort(out.trials);
    std::ranges::stable_sort(out.trials, [&](std::size_t a, std::size_t b) {
        auto const &first = data.trials[a].best, &second = data.trials[b].best;
        return first && (!second || better(first->value, second->value, data.mode));
    });
    return out;
}

// The metrics of a report: first the one that compares the trials.
std::vector<std::string> metrics_of(RunResults const& data) {
    auto out = data.others;
    out.insert(out.begin(), data.metric);
    return out;
}

Json metrics_json(RunResults const& data) {
    Json::Array out;
    for (auto const& name : metrics_of(data)) {
        auto const mode = name == data.metric || !is_metric(name) ? data.mode : natural_mode(name);
        out.emplace_back(Json::object({{"name", name}, {"mode", mode == Mode::min ? "min" : "max"}}));
    }
    return out;
}

// Where the best value so far improves.
Json steps_json(RunResults const& data) {
    std::vector<std::pair<double, double>> laps;
    for (auto const& trial : data.trials)
        for (auto const& point : trial.curve)
            if (std::isfinite(point.value)) laps.emplace_back(point.end_s, point.value);
    std::ranges::stable_sort(laps, {}, &std::pair<double, double>::first);
    Json::Array out;
    double best = NAN;
    for (auto const& [at_s, value] : laps) {
        if (!out.empty() && !better(value, best, data.mode)) continue;
        best = value;
        out.emplace_back(Json::Array{rounded_json(at_s, k_time_digits), rounded_json(value, k_place_digits)});
    }
    return out;
}

Json configuration_json(Assignment const& assignment) {
    Json::Array out;
    for (auto const& [path, value] : assignment)
        out.emplace_back(Json::Array{path, value.is_string() ? cut_text(value.string(), 200) : cut_text(value.dump(), 200)});
    return out;
}

// Indices of the points of a curve: the first, the last and some of the others.
std::vector<std::size_t> points_of(TrialResults const& trial, std::size_t most) {
    auto out = thinned(trial.curve.size(), most, 1);
    if (!out.empty()) out.back() = trial.curve.size() - 1;
    return out;
}

// The points of the first metric of a report, and of the others. Equal: one list of epochs is enough.
struct ShownPoints {
    std::vector<std::size_t> first, others;
};

// The values of a metric over all trials need these digits to tell thousandths of their range apart.
struct ShownMetric {
    std::string name;
    int digits = 4;
};

std::vector<ShownMetric> shown_metrics(RunResults const& data) {
    std::vector<ShownMetric> out;
    for (auto const& name : metrics_of(data)) {
        double low = INFINITY, high = -INFINITY;
        for (auto const& trial : data.trials)
            for (auto const& point : trial.curve)
                if (auto const value = metric_value(point.metrics, name); std::isfinite(value)) {
                    low = std::min(low, value);
                    high = std::max(high, value);
                }
        double const size = std::max(std::abs(low), std::abs(high)), digits = 3 + std::ceil(std::log10(size / (high - low)));
        out.push_back({name, std::isfinite(digits) ? static_cast<int>(std::clamp(digits, 4.0, 7.0)) : 4});
    }
    return out;
}

Json trial_json(TrialResults const& trial, std::vector<ShownMetric> const& metrics, ShownPoints const& shown) {
    Json::Array values, best;
    for (auto const& [metric, digits] : metrics) {
        Json::Array line;
        for (auto const i : values.empty() ? shown.first : shown.others)
            line.emplace_back(rounded_json(metric_value(trial.curve[i].metrics, metric), digits));
        values.emplace_back(std::move(line));
        best.emplace_back(rounded_json(trial.best ? metric_value(trial.best->metrics, metric) : NAN, k_place_digits));
    }
    auto const epochs = [&](std::vector<std::size_t> const& points) {
        Json::Array out;
        for (auto const i : points) out.emplace_back(trial.curve[i].epoch);
        return out;
    };
    return Json::object({{"id", trial.id.value},
                         {"status", trial.status},
                         {"epochs", trial.epochs},
                         {"end", rounded_json(trial.end_s, k_time_digits)},
                         {"trained", rounded_json(trial.train_s)},
                         {"bestEpoch", trial.best ? trial.best->epoch : -1},
                         {"best", std::move(best)},
                         {"config", configuration_json(trial.assignment)},
                         {"at", epochs(shown.first)},
                         {"othersAt", shown.first == shown.others ? Json() : Json(epochs(shown.others))},
                         {"values", std::move(values)}});
}

// The best trials have their whole curves; of many trials the others have less.
Json trials_json(RunResults const& data, std::vector<std::size_t> const& listed) {
    auto const metrics = shown_metrics(data);
    auto const room = k_most_numbers / static_cast<double>(std::max<std::size_t>(1, listed.size()));
    auto const most = [&](double points) {
        return std::clamp<std::size_t>(static_cast<std::size_t>(points), 2, k_most_points);
    };
    auto const first = most(room), others = most(room / static_cast<double>(std::max<std::size_t>(1, metrics.size() - 1)));
    auto logs = logs_of(data);
    Json::Array out;
    for (auto const i : listed) {
        auto const& trial = data.trials[i];
        bool const whole = out.size() < k_whole_curves;
        auto one =
            trial_json(trial, metrics,
                       {points_of(trial, whole ? k_most_points : first), points_of(trial, whole ? k_most_points : others)});
        one["log"] = std::move(logs[trial.id]);
        out.push_back(std::move(one));
    }
    return out;
}

Json key_json(KeyColumn const& key) {
    auto out =
        Json::object({{"name", key.name}, {"log", key.log}, {"whole", key.whole}, {"low", key.low}, {"high", key.high}});
    out["categories"] = key.numeric ? Json() : Json(key.categories);
    return out;
}

void add_groups(Json& out, RunResults const& data, std::vector<std::size_t> const& listed) {
    auto keys = key_columns(data, KeyColumns::varied);
    out["keyCount"] = static_cast<std::int64_t>(keys.size());
    keys.resize(std::min(keys.size(), k_most_keys));
    Json::Array columns, groups;
    for (auto const& key : keys) columns.push_back(key_json(key));
    for (auto const g : listed) {
        auto const& group = data.groups[g];
        Json::Array ids, values;
        for (auto const i : group.trials) ids.emplace_back(data.trials[i].id.value);
        for (auto const& key : keys) values.emplace_back(rounded_json(key.values[g].value_or(NAN), k_place_digits));
        groups.emplace_back(Json::object({{"trials", std::move(ids)},
                                          {"value", rounded_json(group.value, k_place_digits)},
                                          {"keys", std::move(values)}}));
    }
    out["keys"] = std::move(columns);
    out["groups"] = std::move(groups);
}

Json confusion_json(FoundErrors const& errors) {
    Json::Array names, rows;
    if (errors.confusion.size() <= k_most_drawn_classes)
        for (std::size_t i = 0; i < errors.confusion.size(); ++i) {
            names.emplace_back(i < errors.classes.size() ? cut_text(errors.classes[i].name, 60) : fmt::format("{}", i));
            rows.emplace_back(errors.confusion[i]);
        }
    return Json::object({{"names", std::move(names)}, {"rows", std::move(rows)}});
}

Json errors_json(RunResults const& data) {
    if (!data.errors) return {};
    Json::Array targets;
    for (std::size_t t = 0; t < std::min(data.errors->targets.size(), k_most_drawn_targets); ++t) {
        auto const& target = data.errors->targets[t];
        Json::Array sample;
        for (auto const& [answer, predicted] : target.sample)
            if (std::isfinite(answer) && std::isfinite(predicted) && sample.size() < k_most_spots)
                sample.emplace_back(Json::Array{rounded_json(answer), rounded_json(predicted)});
        targets.emplace_back(Json::object({{"name", cut_text(target.name, 60)}, {"sample", std::move(sample)}}));
    }
    return Json::object({{"confusion", confusion_json(*data.errors)}, {"targets", std::move(targets)}});
}

}  // namespace

std::vector<std::size_t> thinned(std::size_t count, std::size_t most, std::size_t first) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < std::min(count, first); ++i) out.push_back(i);
    if (count <= first || most <= first) return out;
    std::size_t const rest = count - first, room = std::min(rest, most - first);
    for (std::size_t i = 0; i < room; ++i) out.push_back(first + i * rest / room);
    return out;
}

Json rounded_json(double value, int digits) {
    if (!std::isfinite(value)) return {};
    auto const rounded = std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr);
    bool const whole = std::abs(rounded) < 1e9 && rounded == std::floor(rounded);
    return whole ? Json(static_cast<std::int64_t>(rounded)) : Json(rounded);  // "3" is shorter than "3.0"
}

Json report_data(RunResults const& data, std::string_view id_prefix) {
    auto const listed = listed_trials(data);
    auto const* best = data.best_trial();
    auto out =
        Json::object({{"id", id_prefix},
                      {"name", data.run.directory.string()},
                      {"end", rounded_json(data.times.end_s, k_time_digits)},
                      {"metrics", metrics_json(data)},
                      {"count", std::ssize(data.trials)},
                      {"placed", std::ranges::count_if(data.trials, [](auto const& t) { return t.best.has_value(); })},
                      {"groupCount", std::ssize(data.ranking)},
                      {"best", best == nullptr ? Json() : Json(Json::Array{best->id.value, best->best->epoch})},
                      {"steps", steps_json(data)},
                      {"trials", trials_json(data, listed.trials)},
                      {"errors", errors_json(data)}});
    add_groups(out, data, listed.groups);
    add_search_data(out, data);
    add_time_data(out, data);
    return out;
}

}  // namespace hopscotch
