// SPDX-License-Identifier: Apache-2.0
// The answer of the run in one sentence, and its figures.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "core/counted.hpp"
#include "core/json_lookup.hpp"
#include "report/page_text.hpp"
#include "report/sections.hpp"
#include "rundir/summary.hpp"
#include "view/leaderboard.hpp"
#include "view/second_place.hpp"

namespace hopscotch {
namespace {

std::string state_sentence(RunResults const& data) {
    if (data.run.status() == "finished") return "";
    if (data.now.renewed_every_s > 0)
        return fmt::format("The run is in training{}. Its job renews this page every {}.",
                           data.now.progress.empty() ? "" : ": " + escaped(data.now.progress),
                           seconds_text(data.now.renewed_every_s));
    if (data.run.status() != "running")
        return fmt::format("The run was {}: this is what it had found by then. <code>--resume</code> continues it.",
                           data.run.status() == "interrupted" ? "interrupted" : "ended by a failure");
    double const age_s = std::max(0.0, data.now.read_unix_s - data.run.journal.jobs.last_unix_s);
    return fmt::format(
        "The run has not ended: a job works on it, or was killed. The last line of its journal was {} old when "
        "this page was written.",
        seconds_text(age_s));
}

std::string result_sentence(RunResults const& data) {
    auto const* best = data.best_trial();
    if (best == nullptr) return fmt::format("No trial has a finite {} yet.", escaped(data.metric));
    std::string out;
    if (data.has_copies() && !data.ranking.empty()) {
        auto const& group = data.groups[data.ranking.front()];
        out = fmt::format("<b>{}</b> is best: mean {} <b>{}</b>, standard deviation {}, of {}.",
                          escaped(short_config(group.assignment)), escaped(data.metric), short_number(group.value),
                          short_number(group.spread), counted(std::ssize(group.trials), "trial"));
        return out + fmt::format(" Its best model is trial {}, epoch {}, with {}.", best->id.value, best->best->epoch,
                                 short_number(best->best->value));
    }
    auto const config = short_config(best->assignment);
    return fmt::format("{} is best: {} <b>{}</b> after epoch {} (trial {}).",
                       config.empty() ? "The only configuration" : "<b>" + escaped(config) + "</b>", escaped(data.metric),
                       short_number(best->best->value), best->best->epoch, best->id.value);
}

std::string test_sentence(RunResults const& data) {
    auto const* test = data.summary.find("test");
    if (test == nullptr || !test->is_object()) return "";
    // Of the search's best epoch; --metric may have chosen another one.
    auto const* best = data.best_trial();
    auto const same = [&](Json const& json, std::string_view key, int value) { return number_in(json, key) == value; };
    if (best == nullptr || !same(data.summary, "best_trial", best->id.value) || !same(*test, "epoch", best->best->epoch))
        return "";
    // First the metric that was searched.
    std::string_view const searched = data.metric.starts_with("val_") ? std::string_view(data.metric).substr(4) : "";
    for (std::string_view const name :
         {searched, std::string_view("accuracy"), std::string_view("r2"), std::string_view("f1"), std::string_view("loss")})
        if (auto const value = number_in(*test, name))
            return fmt::format(" On the test shards its {} is {}.", name, short_number(*value));
    return "";
}

}  // namespace

std::string note(std::string_view text) { return fmt::format("<p class=\"note\">{}</p>", escaped(text)); }

std::string second_place(RunResults const& data) {
    if (data.ranking.size() < 2) return "";
    auto const placed = [&](GroupResults const& group) {
        auto const& trial = data.trials[group.trials.front()];
        auto const copies = std::ssize(group.trials);
        auto const name = (copies == 1 ? "trial " : "trials ") +
                          numbers_text(trial.id.value, data.trials[group.trials.back()].id.value, copies);
        return Placed{name, group.value, group.epochs};
    };
    auto const &first = data.groups[data.ranking[0]], &second = data.groups[data.ranking[1]];
    auto const error = data.has_copies()
                           ? error_of_difference({first.spread, first.trials.size()}, {second.spread, second.trials.size()})
                           : data.standard_error();
    auto const text = second_place_text(placed(first), placed(second), error);
    return text;
}

namespace {

std::string second_sentence(RunResults const& data) {
    auto const text = second_place(data);
    return text.empty() ? "" : fmt::format("<p>The second: {}.</p>", escaped(text));
}

std::string front_sentence(RunResults const& data) {
    auto const front = pareto_from_json(data.summary);
    if (!front || front->points.empty() || !data.run.experiment.search.front.compares) return "";
    auto out = fmt::format("<p>On the Pareto front of {}: {}", escaped(fmt::format("{}", fmt::join(front->names, ", "))),
                           counted(std::ssize(front->points), data.has_copies() ? "configuration" : "trial"));
    if (front->knee) out += fmt::format("; the knee is trial {}", front->knee->value);
    return out + (front->misses_bounds ? ". No trial meets search.subject_to.</p>" : ".</p>");
}

std::string cost_sentence(RunResults const& data) {
    auto const trainers = counted(data.run.facts.trainers(), "trainer");
    return fmt::format("The search cost {} on {}: {} of training and validation for {} and {}.",
                       seconds_text(data.totals.makespan_s), trainers, seconds_text(data.totals.work_s),
                       counted(std::ssize(data.trials), "trial"), counted(data.totals.laps, "epoch"));
}

std::string tile(std::string_view value, std::string_view name) {
    return fmt::format("<div><dd>{}</dd><dt>{}</dt></div>", escaped(value), escaped(name));
}

std::string tiles(RunResults const& data) {
    auto out = std::string("<dl class=\"tiles\">");
    if (auto const* best = data.best_trial()) out += tile(short_number(best->best->value), "best " + data.metric);
    auto const trials = std::ssize(data.trials);
    out += tile(data.now.planned_trials > trials ? fmt::format("{} of {}", trials, data.now.planned_trials)
                                                 : fmt::format("{}", trials),
                "trials");
    out += tile(fmt::format("{}", data.totals.laps), "epochs trained");
    out += tile(seconds_text(data.totals.makespan_s), "makespan");
    if (data.totals.makespan_s > 0) out += tile(fmt::format("{:.0f} %", 100 * data.totals.utilisation), "trainers busy");
    if (data.totals.lower_bound_s > 0 && data.totals.makespan_s > 0)
        out += tile(fmt::format("{:.2f}", data.totals.makespan_s / data.totals.lower_bound_s), "times the lower bound");
    out += tile(fmt::format("{}", data.totals.hops), "hops");
    out += tile(amount_text(static_cast<double>(data.totals.hop_bytes)), "of states moved");
    return out + "</dl>";
}

}  // namespace

std::string answer_section(RunResults const& data) {
    auto out = fmt::format("<p class=\"answer\">{}{}</p>{}{}<p>{} {}</p>", result_sentence(data), test_sentence(data),
                           second_sentence(data), front_sentence(data), cost_sentence(data), state_sentence(data));
    auto const* synthetic = data.summary.find("synthetic");
    if (synthetic != nullptr || data.run.experiment.model.name == "synthetic")
        out += note("The model is synthetic: times are real, metrics are made up.");
    return out + tiles(data);
}

}  // namespace hopscotch
