// SPDX-License-Identifier: Apache-2.0
// Several runs on one page: their answers, the best so far of each, and the cost of each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/json_lookup.hpp"
#include "core/quantity_text.hpp"
#include "report/report_page.hpp"
#include "report/sections.hpp"
#include "rundir/metrics.hpp"
#include "view/leaderboard.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_compared_lines = 7;  // as many as there are colours

struct ComparedColumn {
    char const* name;
    std::function<double(RunResults const&)> value;
    std::function<std::string(double)> text;
};

std::string bytes_words(double bytes) {
    return bytes >= 0 && bytes < 9e18 ? bytes_text(static_cast<std::uint64_t>(bytes)) : std::string("-");
}
std::string count_words(double count) { return fmt::format("{:.0f}", count); }

double sum_of_bytes(RunResults const& data) {
    auto const* bytes = data.summary.find("bytes");
    if (bytes == nullptr) return NAN;
    double out = 0;
    for (auto const* kind : {"state", "gradient", "data", "control"}) out += number_in(*bytes, kind).value_or(0);
    return out;
}

std::vector<ComparedColumn> columns_of() {
    return {{"trainers", [](auto const& d) { return static_cast<double>(d.run.facts.trainers()); }, count_words},
            {"trials", [](auto const& d) { return static_cast<double>(d.trials.size()); }, count_words},
            {"epochs", [](auto const& d) { return static_cast<double>(d.totals.laps); }, count_words},
            {"makespan", [](auto const& d) { return d.totals.makespan_s; }, seconds_text},
            {"work", [](auto const& d) { return d.totals.work_s; }, seconds_text},
            {"busy", [](auto const& d) { return d.totals.utilisation; },
             [](double v) { return fmt::format("{:.0f} %", 100 * v); }},
            {"sent by all ranks", sum_of_bytes, bytes_words}};
}

std::string cell_of(double value, std::string const& text) {
    if (!std::isfinite(value)) return "<td class=\"n\" data-v=\"\">-</td>";
    return fmt::format("<td class=\"n\" data-v=\"{:.9g}\">{}</td>", value, escaped(text));
}

std::string row_of_run(RunResults const& data, std::size_t number) {
    auto out = fmt::format(
        "<tr><td><svg class=\"key\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><rect class=\"f{}\" width=\"12\" "
        "height=\"12\" rx=\"2\"/></svg> <a href=\"#run{}-answer\">{}</a></td><td>{}</td><td>{}</td>",
        number < k_most_compared_lines ? fmt::format("{}", number + 1) : "grey", number,
        escaped(cut_text(data.run.directory.string(), 100)), escaped(data.label), escaped(data.run.status()));
    auto const* best = data.best_trial();
    out += fmt::format("<td>{}</td>", escaped(data.metric));
    out += best == nullptr ? cell_of(NAN, "") : cell_of(best->best->value, short_number(best->best->value));
    for (auto const& column : columns_of()) out += cell_of(column.value(data), column.text(column.value(data)));
    auto const config = best == nullptr ? "" : short_config(best->assignment);
    return out + fmt::format("<td>{}</td></tr>", escaped(cut_text(config, 120)));
}

// (time, best so far) at each improvement, and at the end.
std::vector<std::pair<double, double>> steps_of(RunResults const& data) {
    std::vector<std::pair<double, double>> laps, out;
    for (auto const& trial : data.trials)
        for (auto const& point : trial.curve)
            if (std::isfinite(point.value)) laps.emplace_back(point.end_s, point.value);
    std::ranges::sort(laps);
    for (auto const& [at_s, value] : laps) {
        if (!out.empty() && !better(value, out.back().second, data.mode)) continue;
        if (!out.empty()) out.emplace_back(at_s, out.back().second);
        out.emplace_back(at_s, value);
    }
    if (!out.empty()) out.emplace_back(data.times.end_s, out.back().second);
    return out;
}

// Of the runs that have the metric of the first one.
std::string race(std::vector<RunResults> const& runs) {
    std::vector<std::vector<std::pair<double, double>>> lines;
    std::vector<double> values;
    double longest = 0;
    for (auto const& run : runs) {
        bool const drawn = run.metric == runs.front().metric && lines.size() < k_most_compared_lines;
        lines.push_back(drawn ? steps_of(run) : std::vector<std::pair<double, double>>{});
        for (auto const& [at_s, value] : lines.back()) {
            values.push_back(value);
            longest = std::max(longest, at_s);
        }
    }
    if (values.empty()) return "";
    auto const unit = time_unit(longest);
    auto axes = make_axes({70, 34, 840, 320}, AxisScale(ScaleKind::linear, 0, longest / unit.seconds),
                          metric_scale(values, runs.front().mode));
    axes.x_name = fmt::format("time in the run ({})", unit.name);
    axes.y_name = "best " + runs.front().metric + " so far";
    Svg svg(860, 362, "best so far of each run over time");
    draw_axes(svg, axes);
    for (std::size_t r = 0; r < lines.size(); ++r) {
        std::vector<Spot> places;
        for (auto const& [at_s, value] : lines[r]) places.push_back(axes.at(at_s / unit.seconds, value));
        svg.path(places, fmt::format("front s{}", r + 1), runs[r].run.directory.string());
    }
    std::string caption;
    for (std::size_t r = 0; r < runs.size(); ++r)
        if (lines[r].empty())
            caption += fmt::format("{}{} ({})", caption.empty() ? "Not in the picture: " : ", ",
                                   cut_text(runs[r].run.directory.string(), 80),
                                   runs[r].metric != runs.front().metric ? "compares by " + runs[r].metric
                                   : runs[r].best_trial() == nullptr     ? "has no value yet"
                                                                         : "more runs than can be told apart");
    return figure(std::move(svg).take(), escaped(caption));
}

}  // namespace

std::string comparison_section(std::vector<RunResults> const& runs) {
    std::string head;
    for (auto const* name : {"run", "strategy", "status", "metric"}) head += fmt::format("<th scope=\"col\">{}</th>", name);
    head += "<th scope=\"col\" class=\"n\">best</th>";
    for (auto const& column : columns_of()) head += fmt::format("<th scope=\"col\" class=\"n\">{}</th>", column.name);
    std::string rows;
    for (std::size_t r = 0; r < runs.size(); ++r) rows += row_of_run(runs[r], r);
    return race(runs) +
           fmt::format(
               "<div class=\"scroll\"><table class=\"sortable\"><thead><tr>{}<th scope=\"col\">best configuration</th></tr>"
               "</thead><tbody>{}</tbody></table></div>",
               head, rows) +
           "<p class=\"cap\">Whether runs did the same work, and so may be compared, is what hopscotch compare checks.</p>";
}

}  // namespace hopscotch
