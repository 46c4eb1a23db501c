// SPDX-License-Identifier: Apache-2.0
// Pictures of the searched keys: parallel coordinates, importance, slices.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/importance.hpp"
#include "report/sections.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_paths = 400, k_front_lines = 50, k_most_axes = 12, k_most_slices = 24, k_most_slice_dots = 600;

std::vector<double> values_of_groups(RunResults const& data) {
    std::vector<double> out;
    for (auto const& group : data.groups) out.push_back(group.value);
    return out;
}

struct ParallelAxis {
    double x = 0;
    AxisScale scale;
    std::vector<Tick> ticks;
    std::string name;
    KeyColumn const* key = nullptr;  // null: the metric
};

constexpr double k_axis_top = 50, k_axis_bottom = 300, k_none_y = 326;

std::vector<ParallelAxis> parallel_axes(RunResults const& data, std::vector<KeyColumn> const& keys) {
    std::vector<ParallelAxis> out;
    double const gap = 740.0 / static_cast<double>(keys.size());
    auto const values = metric_scale(values_of_groups(data), data.mode).between(k_axis_bottom, k_axis_top);
    out.push_back({60, values, values.ticks(5), data.metric, nullptr});
    for (auto const& key : keys) {
        auto const scale = key.scale().between(k_axis_bottom, k_axis_top);
        out.push_back({60 + gap * static_cast<double>(out.size()), scale, key.ticks(scale, 5), key.name, &key});
    }
    return out;
}

bool has_none(KeyColumn const* key) {
    return key != nullptr && std::ranges::any_of(key->values, [](auto const& value) { return !value; });
}

void draw_parallel_axis(Svg& svg, ParallelAxis const& axis, std::size_t number, double room) {
    svg.line({axis.x, k_axis_top}, {axis.x, k_axis_bottom}, "axis");
    bool const even = number % 2 == 0 || room > 90;
    svg.text({axis.x, even ? k_axis_top - 14.0 : k_axis_top - 30.0}, "name mid",
             cut_text(axis.name, static_cast<std::size_t>(std::max(8.0, room / (room > 90 ? 7 : 4)))));
    for (auto const& tick : axis.ticks) {
        double const y = axis.scale.at(tick.value);
        svg.line({axis.x - 4, y}, {axis.x, y}, "axis");
        svg.text({axis.x - 7, y + 4}, "tick end halo", cut_text(tick.text, 14));
    }
    if (has_none(axis.key)) svg.text({axis.x - 7, k_none_y + 4}, "tick end halo", "none");
    svg.rect({axis.x - 12, k_axis_top - 4, axis.x + 12, k_none_y + 6}, "brush", "", fmt::format("data-axis=\"{}\"", number));
}

std::vector<Spot> parallel_places(RunResults const& data, std::size_t g, std::vector<ParallelAxis> const& axes) {
    std::vector<Spot> out;
    for (auto const& axis : axes) {
        auto const value = axis.key == nullptr ? std::optional(data.groups[g].value) : axis.key->values[g];
        out.push_back({axis.x, value ? axis.scale.at(*value) : k_none_y});
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

std::string slice(RunResults const& data, KeyColumn const& key) {
    auto axes = make_axes({62, 26, 290, 170}, key.scale(), metric_scale(values_of_groups(data), data.mode));
    Svg svg(300, 206, fmt::format("{} by {}", data.metric, key.name), "small");
    axes.x_ticks = 0;
    axes.y_ticks = 4;
    for (auto const& tick : axes.y.ticks(4)) {
        svg.line({axes.box.left, axes.y.at(tick.value)}, {axes.box.right, axes.y.at(tick.value)}, "rule");
        svg.text({axes.box.left - 6, axes.y.at(tick.value) + 4}, "tick end", tick.text);
    }
    svg.line({axes.box.left, axes.box.bottom}, {axes.box.right, axes.box.bottom}, "axis");
    auto ticks = key.ticks(axes.x, 4);
    double const room = axes.box.width() / std::max<double>(1, static_cast<double>(ticks.size()));
    for (auto const& tick : ticks) {
        svg.line({axes.x.at(tick.value), axes.box.bottom}, {axes.x.at(tick.value), axes.box.bottom + 4}, "axis");
        svg.text({axes.x.at(tick.value), axes.box.bottom + 17}, "tick mid",
                 cut_text(tick.text, static_cast<std::size_t>(std::max(4.0, room / 6.5))));
    }
    svg.text({axes.box.left, 14}, "name", cut_text(key.name, 40));
    for (auto const i : thinned(data.ranking.size(), k_most_slice_dots, 20)) {
        auto const g = data.ranking[i];
        if (!key.values[g]) continue;
        svg.circle(axes.at(*key.values[g], data.groups[g].value), i == 0 ? 4.5 : 3, i == 0 ? "dot f2 first" : "dot f1",
                   fmt::format("{}\n{} {}", group_name(data, data.groups[g]), data.metric,
                               short_number(data.groups[g].value)),
                   trial_mark(data.trials[data.groups[g].trials.front()].id.value));
    }
    return std::move(svg).take();
}

}  // namespace

std::string parallel_section(RunResults const& data) {
    auto keys = key_columns(data, KeyColumns::varied);
    if (keys.empty() || data.ranking.size() < 2) return "";
    auto const all = keys.size();
    keys.resize(std::min(all, k_most_axes));
    auto const axes = parallel_axes(data, keys);
    double const room = 740.0 / static_cast<double>(keys.size());
    Svg svg(860, 340, fmt::format("{} and the searched keys, a line for each configuration", data.metric), "wide parallel");
    auto const shown = thinned(data.ranking.size(), k_most_paths, k_front_lines);
    auto const best = std::max<std::size_t>(1, data.ranking.size() / 10);
    for (auto i = shown.size(); i-- > 0;) {
        auto const& group = data.groups[data.ranking[shown[i]]];
        auto const* const css = shown[i] == 0 ? "pline first" : shown[i] < best ? "pline good" : "pline";
        svg.path(parallel_places(data, data.ranking[shown[i]], axes), css,
                 fmt::format("{}\n{} {}", group_name(data, group), data.metric, short_number(group.value)),
                 trial_mark(data.trials[group.trials.front()].id.value));
    }
    for (std::size_t a = 0; a < axes.size(); ++a) draw_parallel_axis(svg, axes[a], a, room);
    auto caption = legend({{"f2", "best"}, {"f1", "best tenth"}, {"fgrey", "others"}});
    caption +=
        "A line is a configuration. <span class=\"noscreen\">Drag along an axis to choose a part of it; click the axis to "
        "let go.</span>";
    if (shown.size() < data.ranking.size())
        caption += fmt::format(" {} of {} lines are drawn.", shown.size(), data.ranking.size());
    if (keys.size() < all) caption += fmt::format(" {} of {} keys are drawn.", keys.size(), all);
    return figure(std::move(svg).take(), caption);
}

std::string importance_section(RunResults const& data) {
    auto const keys = key_columns(data, KeyColumns::varied);
    auto const importance = importance_of(keys, ranks_by_length(data));
    if (keys.size() < 2 || importance.empty()) return "";
    std::vector<std::size_t> order(keys.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](auto a, auto b) { return importance[a] > importance[b]; });
    order.resize(std::min<std::size_t>(order.size(), 20));
    bool const enough = data.ranking.size() >= k_trials_for_importance;
    double const top = enough ? 10 : 40, bottom = top + 30 * static_cast<double>(order.size());
    Svg svg(860, bottom + 10, "importance of the searched keys");
    if (!enough)
        svg.text({200, 22}, "warn",
                 fmt::format("From {} configurations. Do not trust this picture: it needs {} or more.", data.ranking.size(),
                             k_trials_for_importance));
    double const longest = importance[order.front()];
    for (std::size_t i = 0; i < order.size(); ++i) {
        double const y = top + 30 * static_cast<double>(i), value = importance[order[i]];
        double const end = 200 + 560 * (longest > 0 ? value / longest : 0);
        svg.text({190, y + 19}, "tick end", cut_text(keys[order[i]].name, 26));
        svg.rect({200, y + 6, end, y + 24}, enough ? "f1" : "fgrey");
        svg.text({end + 8, y + 19}, "tick", fmt::format("{:.0f} %", 100 * value));
    }
    return figure(
        std::move(svg).take(),
        "Share of each key in what tells the best tenth of the configurations from all others: PED-ANOVA (Watanabe "
        "et al., 2023), with groups ranked by epochs reached, then by value. It is believable from 50 "
        "configurations on. It shows where the best lie, not what causes it.");
}

std::string slices_section(RunResults const& data) {
    auto keys = key_columns(data, KeyColumns::varied);
    if (keys.empty() || data.ranking.size() < 2) return "";
    auto const all = keys.size();
    keys.resize(std::min(all, k_most_slices));
    std::string out = "<div class=\"multiples\">";
    for (auto const& key : keys) out += slice(data, key);
    out += fmt::format("</div><p class=\"cap\">{} of each configuration by one key. Orange: the best.</p>",
                       escaped(data.metric));
    if (data.ranking.size() > k_most_slice_dots)
        out += note(fmt::format("{} of {} points are drawn in each.", k_most_slice_dots, data.ranking.size()));
    if (keys.size() < all) out += note(fmt::format("{} of {} keys are drawn.", keys.size(), all));
    return out;
}

}  // namespace hopscotch
