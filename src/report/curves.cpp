// SPDX-License-Identifier: Apache-2.0
// The optimization history, and the learning curves of all trials.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/sections.hpp"
#include "rundir/metrics.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_history_points = 2000, k_most_curves = 400, k_front_curves = 5, k_most_curve_points = 120;
constexpr PlotBox k_wide_box{70, 34, 840, 320};

struct Improvement {
    double at_s = 0, value = 0;
};

// The best value so far, at each improvement.
std::vector<Improvement> improvements_of(RunResults const& data) {
    std::vector<Improvement> laps;
    for (auto const& trial : data.trials)
        for (auto const& point : trial.curve)
            if (std::isfinite(point.value)) laps.push_back({point.end_s, point.value});
    std::ranges::sort(laps, {}, &Improvement::at_s);
    std::vector<Improvement> out;
    for (auto const& lap : laps)
        if (out.empty() || better(lap.value, out.back().value, data.mode)) out.push_back(lap);
    return out;
}

// The steps of the best value, up to the end of the run.
std::vector<Spot> staircase(std::vector<Improvement> const& steps, Axes const& axes, double unit, double end_s) {
    std::vector<Spot> out;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        out.push_back(axes.at(steps[i].at_s / unit, steps[i].value));
        auto const until = i + 1 < steps.size() ? steps[i + 1].at_s : end_s;
        out.push_back(axes.at(until / unit, steps[i].value));
    }
    return out;
}

char const* dot_class(TrialResults const& trial) {
    if (trial.status == "finished") return "dot f1";
    if (trial.status == "running") return "dot f3";
    return "dot hollow";
}

void draw_dots(Svg& svg, RunResults const& data, Axes const& axes, double unit) {
    std::vector<std::size_t> shown;
    for (std::size_t i = 0; i < data.trials.size(); ++i)
        if (data.trials[i].best) shown.push_back(i);
    for (auto const index : thinned(shown.size(), k_most_history_points, 0)) {
        auto const& trial = data.trials[shown[index]];
        svg.circle(axes.at(trial.end_s / unit, trial.best->value), 3.5, dot_class(trial),
                   fmt::format("{}\n{} {}, {}", trial_name(trial), data.metric, short_number(trial.best->value),
                               trial.status),
                   trial_mark(trial.id.value));
    }
}

// The last point is always there.
std::vector<Spot> curve_places(TrialResults const& trial, Axes const& axes) {
    if (trial.curve.empty()) return {};
    auto shown = thinned(trial.curve.size(), k_most_curve_points, 1);
    if (shown.back() != trial.curve.size() - 1) shown.push_back(trial.curve.size() - 1);
    std::vector<Spot> out;
    for (auto const i : shown)
        if (std::isfinite(trial.curve[i].value)) out.push_back(axes.at(trial.curve[i].epoch, trial.curve[i].value));
    return out;
}

void draw_curve(Svg& svg, TrialResults const& trial, Axes const& axes, std::string_view css) {
    auto const places = curve_places(trial, axes);
    auto const value = trial.best ? short_number(trial.best->value) : "";
    auto const title = fmt::format("{}\nbest {}, {}", trial_name(trial), value, trial.status);
    if (places.size() == 1)
        svg.circle(places.front(), 2.5, css, title, trial_mark(trial.id.value));
    else
        svg.path(places, css, title, trial_mark(trial.id.value));
}

Axes curve_axes(RunResults const& data) {
    std::vector<double> values;
    int last = 1;
    for (auto const& trial : data.trials)
        for (auto const& point : trial.curve) {
            values.push_back(point.value);
            last = std::max(last, point.epoch);
        }
    auto axes = make_axes(k_wide_box, AxisScale(ScaleKind::linear, 0, last), metric_scale(values, data.mode));
    axes.x_name = "epoch";
    axes.x_ticks_at = TicksAt::whole_numbers;
    axes.y_name = data.metric;
    return axes;
}

}  // namespace

std::string history_section(RunResults const& data) {
    auto const steps = improvements_of(data);
    if (steps.empty()) return "";
    auto const unit = time_unit(data.times.end_s);
    std::vector<double> values{steps.front().value};
    for (auto const& trial : data.trials)
        if (trial.best) values.push_back(trial.best->value);
    auto axes = make_axes(k_wide_box, AxisScale(ScaleKind::linear, 0, data.times.end_s / unit.seconds),
                          metric_scale(values, data.mode));
    axes.x_name = fmt::format("time in the run ({})", unit.name);
    axes.y_name = data.metric;
    Svg svg(860, 362, fmt::format("{} of each trial, and the best so far, over time", data.metric));
    draw_axes(svg, axes);
    svg.path(staircase(steps, axes, unit.seconds, data.times.end_s), "best-line");
    draw_dots(svg, data, axes, unit.seconds);
    std::vector<LegendEntry> entries{{"f2", "best so far"}, {"f1", "a trial that finished"}};
    if (std::ranges::count(data.trials, "running", &TrialResults::status) > 0) entries.push_back({"f3", "in training"});
    entries.push_back({"hollow", "stopped, paused or failed"});
    auto caption = legend(entries);
    caption += "A point is a trial: its best epoch, at the end of its last one.";
    if (values.size() > k_most_history_points + 1)
        caption += fmt::format(" {} of {} trials are drawn.", k_most_history_points, values.size() - 1);
    return figure(std::move(svg).take(), caption);
}

std::string curves_section(RunResults const& data) {
    auto const order = by_value(data);
    if (order.empty()) return "";
    auto const axes = curve_axes(data);
    Svg svg(860, 362, fmt::format("{} of every trial by epoch", data.metric));
    draw_axes(svg, axes);
    auto const shown = thinned(order.size(), k_most_curves, k_front_curves);
    svg.begin_clip({k_wide_box.left - 4, k_wide_box.top - 6, k_wide_box.right + 6, k_wide_box.bottom + 4});
    std::string_view const back = shown.size() > 100 ? "curve faint" : "curve";
    for (auto i = shown.size(); i-- > std::min(shown.size(), k_front_curves);)
        draw_curve(svg, data.trials[order[shown[i]]], axes, back);
    auto const front = std::min(order.size(), k_front_curves);
    for (auto i = front; i-- > 0;) draw_curve(svg, data.trials[order[i]], axes, fmt::format("front s{}", i + 1));
    svg.end_clip();
    std::vector<LegendEntry> entries;
    for (std::size_t i = 0; i < front; ++i)
        entries.push_back(
            {i == 4 ? "fink" : fmt::format("f{}", i + 1), fmt::format("trial {}", data.trials[order[i]].id.value)});
    auto caption = legend(entries);
    caption += front == 1 ? "The best trial is in front." : fmt::format("The {} best trials are in front.", front);
    if (order.size() > shown.size()) caption += fmt::format(" {} of {} curves are drawn.", shown.size(), order.size());
    return figure(std::move(svg).take(), caption);
}

}  // namespace hopscotch
