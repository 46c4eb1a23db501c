// SPDX-License-Identifier: Apache-2.0
// The leaderboard as a table that the page can sort and filter.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/key_columns.hpp"
#include "report/sections.hpp"
#include "rundir/metrics.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_rows = 1000, k_open_rows = 25, k_most_key_columns = 24;

std::string number_cell(double value, std::string_view text) {
    auto const sorted = std::isfinite(value) ? fmt::format("{:.9g}", value) : "";
    return fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", sorted, escaped(text));
}

std::string text_cell(std::string_view text) { return fmt::format("<td>{}</td>", escaped(text)); }

std::string status_cell(TrialResults const& trial) {
    bool const bad = trial.status == "failed" || trial.status == "diverged";
    return fmt::format("<td{}><span class=\"st{}\">{}</span></td>",
                       trial.reason.empty() ? "" : fmt::format(" title=\"{}\"", escaped(cut_text(trial.reason, 300))),
                       bad ? " bad" : "", escaped(trial.status));
}

// The spread of the copies on the scale of all groups: a line from least to most, a mark at each.
std::string spread_picture(RunResults const& data, GroupResults const& group, AxisScale const& scale) {
    Svg svg(120, 16, "values of the copies", "spark");
    svg.line({2, 8}, {118, 8}, "rule");
    for (auto const i : group.trials)
        if (auto const& trial = data.trials[i]; !trial.curve.empty())
            svg.circle({scale.at(trial.best ? trial.best->value : 0), 8}, 3, "dot f1");
    svg.line({scale.at(group.value), 1}, {scale.at(group.value), 15}, "best-line");
    return fmt::format("<td>{}</td>", std::move(svg).take());
}

AxisScale spread_scale(RunResults const& data) {
    std::vector<double> values;
    for (auto const g : data.ranking)
        for (auto const i : data.groups[g].trials)
            if (data.trials[i].best) values.push_back(data.trials[i].best->value);
    return metric_scale(values, data.mode).between(5, 115);
}

std::string head_cell(std::string_view name, std::string_view css) {
    return fmt::format("<th scope=\"col\"{}>{}</th>", css.empty() ? "" : fmt::format(" class=\"{}\"", css), escaped(name));
}

struct UseColumns {
    std::string_view device;
    DeviceUse TrialResults::* use;
};

// The devices whose use is known of some trial.
std::vector<UseColumns> use_columns(RunResults const& data) {
    std::vector<UseColumns> out;
    for (auto const& columns : {UseColumns{"CPU", &TrialResults::cpu}, UseColumns{"GPU", &TrialResults::gpu}})
        if (std::ranges::any_of(data.trials, [&](auto const& trial) { return (trial.*columns.use).is_known(); }))
            out.push_back(columns);
    return out;
}

std::string use_cells(DeviceUse const& use, double trained_s) {
    if (!use.is_known()) return number_cell(NAN, "-") + number_cell(NAN, "-");
    return number_cell(use.of(trained_s), fmt::format("{:.3g}", use.of(trained_s))) +
           number_cell(use.share(), fmt::format("{:.0f} %", 100 * use.share()));
}

// Seconds of training; busy seconds of each device and their share.
std::string times_cells(RunResults const& data, GroupResults const& group) {
    double trained_s = 0;
    for (auto const i : group.trials) trained_s += data.trials[i].train_s;
    auto out = number_cell(trained_s, fmt::format("{:.3g}", trained_s));
    for (auto const& columns : use_columns(data)) {
        DeviceUse use;
        for (auto const i : group.trials) use.add(data.trials[i].*columns.use);
        out += use_cells(use, trained_s);
    }
    return out;
}

// Other metrics at the best epoch. A mean over copies has no such epoch.
std::vector<std::string> others_of(RunResults const& data) {
    return data.has_copies() ? std::vector<std::string>() : data.others;
}

std::string head_of(RunResults const& data, std::vector<KeyColumn> const& keys) {
    auto out = head_cell("rank", "n") + head_cell(data.has_copies() ? "trials" : "trial", "n");
    out += head_cell(data.has_copies() ? "mean " + data.metric : data.metric, "n");
    if (data.has_copies()) out += head_cell("spread", "n") + head_cell("copies", "");
    for (auto const& key : keys) out += head_cell(key.name, key.numeric ? "n" : "");
    if (!data.has_copies()) out += head_cell("best epoch", "n");
    out += head_cell("epochs", "n");
    for (auto const& name : others_of(data)) out += head_cell(name, "n");
    out += head_cell("trained (s)", "n");
    for (auto const& columns : use_columns(data))
        out += head_cell(fmt::format("{} (s)", columns.device), "n") + head_cell(fmt::format("{} use", columns.device), "n");
    out += head_cell("status", "");
    return "<thead><tr>" + out + "</tr></thead>";
}

std::string row_of_group(RunResults const& data, std::vector<KeyColumn> const& keys, std::size_t g, std::string_view rank,
                         AxisScale const& scale) {
    auto const& group = data.groups[g];
    auto const& trial = data.trials[group.trials.front()];
    auto out = number_cell(rank.empty() ? NAN : std::stod(std::string(rank)), rank);
    auto const name = data.has_copies() ? fmt::format("{}-{}", trial.id.value, data.trials[group.trials.back()].id.value)
                                        : fmt::format("{}", trial.id.value);
    out += number_cell(trial.id.value, name) + number_cell(group.value, short_number(group.value));
    if (data.has_copies())
        out += number_cell(group.spread, std::isfinite(group.value) ? short_number(group.spread) : "-") +
               spread_picture(data, group, scale);
    for (auto const& key : keys)
        out += key.numeric ? number_cell(key.values[g].value_or(NAN), key.texts[g]) : text_cell(key.texts[g]);
    if (!data.has_copies())
        out += number_cell(trial.best ? double(trial.best->epoch) : NAN,
                           trial.best ? fmt::format("{}", trial.best->epoch) : "-");
    out += number_cell(group.epochs, fmt::format("{}", group.epochs));
    for (auto const& metric : others_of(data)) {
        auto const value = trial.best ? metric_value(trial.best->metrics, metric) : NAN;
        out += number_cell(value, short_number(value));
    }
    return out + times_cells(data, group) + status_cell(trial);
}

}  // namespace

std::string ranking_section(RunResults const& data) {
    if (data.groups.empty()) return "";
    auto keys = key_columns(data, KeyColumns::all);
    auto const all_keys = keys.size();
    keys.resize(std::min(keys.size(), k_most_key_columns));
    auto rows = data.ranking;
    for (std::size_t g = 0; g < data.groups.size(); ++g)
        if (!std::isfinite(data.groups[g].value)) rows.push_back(g);
    auto const count = rows.size();
    rows.resize(std::min(count, k_most_rows));
    auto const scale = spread_scale(data);
    std::string body;
    for (std::size_t r = 0; r < rows.size(); ++r) {
        auto const g = rows[r];
        auto const id = data.trials[data.groups[g].trials.front()].id.value;
        body += fmt::format("<tr {}{}>", trial_mark(id), r >= k_open_rows ? " class=\"more\"" : "");
        body += row_of_group(data, keys, g, r < data.ranking.size() ? fmt::format("{}", r + 1) : "", scale);
        body += "</tr>\n";
    }
    auto out = fmt::format(
        "<div class=\"tools\"><label>Filter <input type=\"search\" class=\"filter\" placeholder=\"text in any "
        "column\"></label> <span class=\"shown\"></span></div><div class=\"scroll\"><table "
        "class=\"sortable\">{}<tbody>{}</tbody></table></div>",
        head_of(data, keys), body);
    if (rows.size() > k_open_rows)
        out += "<p class=\"noscreen\"><button type=\"button\" class=\"all\">Show all rows</button></p>";
    if (rows.size() < count) out += note(fmt::format("{} of {} rows are here; trials.csv has all.", rows.size(), count));
    if (keys.size() < all_keys) out += note(fmt::format("{} of {} searched keys are here.", keys.size(), all_keys));
    return out;
}

}  // namespace hopscotch
