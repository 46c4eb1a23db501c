// SPDX-License-Identifier: Apache-2.0
// One trial: its curves, configuration and log, for the trial that a click chooses. The script draws the JSON that stands
// here.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "report/sections.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_listed = 1000, k_most_log_lines = 40, k_most_points = 60;
constexpr double k_most_bytes = 300e3, k_bytes_of_a_number = 7;

// A number that is not finite becomes null.
double short_value(double value) { return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr); }

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

Json configuration_json(Assignment const& assignment) {
    Json::Array out;
    for (auto const& [path, value] : assignment)
        out.emplace_back(Json::Array{path, value.is_string() ? cut_text(value.string(), 200) : cut_text(value.dump(), 200)});
    return out;
}

Json trial_json(TrialResults const& trial, std::vector<std::string> const& metrics, std::size_t most_points) {
    auto shown = thinned(trial.curve.size(), most_points, 1);
    if (!shown.empty() && shown.back() != trial.curve.size() - 1) shown.back() = trial.curve.size() - 1;
    Json::Array epochs, values, best;
    for (auto const i : shown) epochs.emplace_back(trial.curve[i].epoch);
    for (auto const& metric : metrics) {
        Json::Array line;
        for (auto const i : shown) line.emplace_back(short_value(metric_value(trial.curve[i].metrics, metric)));
        values.emplace_back(std::move(line));
        best.emplace_back(trial.best ? short_value(metric_value(trial.best->metrics, metric)) : NAN);
    }
    return Json::object({{"status", trial.status},
                         {"epochs", trial.epochs},
                         {"bestEpoch", trial.best ? trial.best->epoch : -1},
                         {"trained", short_value(trial.train_s)},
                         {"config", configuration_json(trial.assignment)},
                         {"at", std::move(epochs)},
                         {"values", std::move(values)},
                         {"best", std::move(best)}});
}

// Trials with a value, best first, then the others.
std::vector<std::size_t> by_place(RunResults const& data) {
    auto out = by_value(data);
    for (std::size_t i = 0; i < data.trials.size(); ++i)
        if (!data.trials[i].best) out.push_back(i);
    return out;
}

// Within a script element no "<" may begin a tag.
std::string without_tags(std::string text) {
    for (auto at = text.find('<'); at != text.npos; at = text.find('<', at)) text.replace(at, 1, "\\u003c");
    return text;
}

}  // namespace

std::string trial_section(RunResults const& data) {
    if (data.trials.empty()) return "";
    auto order = by_place(data);
    auto const all = order.size();
    order.resize(std::min(all, k_most_listed));
    auto metrics = data.others;
    metrics.insert(metrics.begin(), data.metric);
    auto const numbers = static_cast<double>(order.size() * metrics.size());
    auto const room = static_cast<std::size_t>(k_most_bytes / k_bytes_of_a_number / numbers);
    auto const points = std::clamp<std::size_t>(room, 2, k_most_points);
    auto logs = logs_of(data);
    auto trials = Json::object({});
    for (auto const i : order) {
        auto const& trial = data.trials[i];
        auto one = trial_json(trial, metrics, points);
        one["log"] = std::move(logs[trial.id]);
        trials[std::to_string(trial.id.value)] = std::move(one);
    }
    bool const has_best = data.best && std::ranges::count(order, *data.best) > 0;
    auto const first = data.trials[has_best ? *data.best : order.front()].id.value;
    auto const document =
        Json::object({{"first", std::to_string(first)}, {"metrics", metrics}, {"trials", std::move(trials)}});
    auto out = fmt::format(
        "<div class=\"one-trial\"><p class=\"cap\">With JavaScript, a click on a mark of a trial or on its row shows the "
        "trial here.</p><div class=\"chosen-trial\"></div><script type=\"application/json\">{}</script></div>",
        without_tags(document.dump()));
    return order.size() < all ? out + note(fmt::format("{} of {} trials can be shown.", order.size(), all)) : out;
}

}  // namespace hopscotch
