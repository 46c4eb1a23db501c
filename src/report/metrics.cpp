// SPDX-License-Identifier: Apache-2.0
// The metrics beside search.metric: the best trials by epoch, one small picture for each metric. Training stands beside
// validation.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiment/metric.hpp"
#include "report/sections.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_trials = 5, k_most_points = 120;
constexpr PlotBox k_box{52, 26, 262, 150};

// One line of a picture. dashed: a metric of training.
struct Line {
    std::string metric;
    bool dashed = false;
};

std::vector<Spot> places_of(TrialResults const& trial, std::string const& metric, Axes const& axes) {
    std::vector<Spot> out;
    for (auto const i : thinned(trial.curve.size(), k_most_points, 1)) {
        auto const value = metric_value(trial.curve[i].metrics, metric);
        if (std::isfinite(value)) out.push_back(axes.at(trial.curve[i].epoch, value));
    }
    return out;
}

std::string picture(RunResults const& data, std::vector<std::size_t> const& trials, std::string const& name,
                    std::vector<Line> const& lines) {
    std::vector<double> values;
    int last = 1;
    for (auto const t : trials)
        for (auto const& point : data.trials[t].curve) {
            last = std::max(last, point.epoch);
            for (auto const& line : lines) values.push_back(metric_value(point.metrics, line.metric));
        }
    auto const mode = is_metric(lines.front().metric) ? natural_mode(lines.front().metric) : data.mode;
    auto axes = make_axes(k_box, AxisScale(ScaleKind::linear, 0, last), metric_scale(values, mode));
    axes.x_ticks = axes.y_ticks = 4;
    axes.x_ticks_at = TicksAt::whole_numbers;
    axes.y_name = name;
    Svg svg(280, 174, name + " by epoch", "small");
    draw_axes(svg, axes);
    svg.begin_clip({k_box.left - 4, k_box.top - 6, k_box.right + 6, k_box.bottom + 4});
    for (auto i = trials.size(); i-- > 0;) {
        auto const& trial = data.trials[trials[i]];
        for (auto const& line : lines) {
            auto const places = places_of(trial, line.metric, axes);
            auto const title = fmt::format("{}\n{}", trial_name(trial), line.metric);
            if (places.size() == 1)
                svg.circle(places.front(), 2.5, fmt::format("dot f{}", i + 1), title, trial_mark(trial.id.value));
            else
                svg.path(places, fmt::format("front thin s{}{}", i + 1, line.dashed ? " dashed" : ""), title,
                         trial_mark(trial.id.value));
        }
    }
    svg.end_clip();
    return std::move(svg).take();
}

}  // namespace

std::string metrics_section(RunResults const& data) {
    auto order = by_value(data);
    if (order.empty() || data.others.empty()) return "";
    order.resize(std::min(order.size(), k_trials));
    auto const known = [&](std::string_view name) {
        return data.metric == name || std::ranges::count(data.others, name) > 0;
    };
    std::string out = "<div class=\"multiples\">";
    bool const both = known(k_train_loss) && known(k_val_loss);
    if (both) out += picture(data, order, "loss", {{std::string(k_val_loss), false}, {std::string(k_train_loss), true}});
    for (auto const& name : data.others) {
        bool const loss = name == k_train_loss || name == k_val_loss;
        if (!loss || !both) out += picture(data, order, name, {{name, name == k_train_loss}});
    }
    std::vector<LegendEntry> entries;
    for (std::size_t i = 0; i < order.size(); ++i)
        entries.push_back(
            {i == 4 ? "fink" : fmt::format("f{}", i + 1), fmt::format("trial {}", data.trials[order[i]].id.value)});
    return out + "</div>" + legend(entries) +
           fmt::format("<p class=\"cap\">{} by epoch{}.</p>",
                       order.size() == 1 ? "The best trial" : fmt::format("The {} best trials", order.size()),
                       both ? "; loss: validation drawn through, training dashed (a mean over the epoch, with dropout and "
                              "augmentation)"
                            : "");
}

}  // namespace hopscotch
