// SPDX-License-Identifier: Apache-2.0
// Several runs on one page: their answers, and the cost of each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/json_lookup.hpp"
#include "report/html_table.hpp"
#include "report/page_text.hpp"
#include "report/report_page.hpp"
#include "view/leaderboard.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_compared_lines = 7;  // as many as there are colours

struct ComparedColumn {
    char const* name;
    std::function<double(RunResults const&)> value;
    std::function<std::string(double)> text;
};

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
            {"sent by all ranks", sum_of_bytes, amount_text}};
}

}  // namespace

std::string comparison_section(std::span<RunResults const> runs) {
    using enum HtmlTable::Kind;
    auto const columns = columns_of();
    std::vector<HtmlTable::Column> heads{{"run"}, {"strategy"}, {"status"}, {"metric"}, {"best", numbers}};
    for (auto const& column : columns) heads.push_back({column.name, numbers});
    heads.push_back({"best configuration"});
    HtmlTable table(heads);
    for (std::size_t r = 0; r < runs.size(); ++r) {
        auto const& data = runs[r];
        auto const* best = data.best_trial();
        table.begin_row();
        table.html(
            fmt::format("<td><svg class=\"key\" viewBox=\"0 0 12 12\" aria-hidden=\"true\"><rect class=\"f{}\" "
                        "width=\"12\" height=\"12\" rx=\"2\"/></svg> <a href=\"#run{}-answer\">{}</a></td>",
                        r == 4                      ? "ink"
                        : r < k_most_compared_lines ? fmt::format("{}", r + 1)
                                                    : "grey",
                        r, escaped(cut_text(data.run.directory.string(), 100))));
        for (auto const& text : {data.label, std::string(data.run.status()), data.metric}) table.words(text);
        table.number(best == nullptr ? NAN : best->best->value, short_number(best == nullptr ? NAN : best->best->value));
        for (auto const& column : columns) {
            auto const value = column.value(data);
            table.number(value, std::isfinite(value) ? column.text(value) : "-");
        }
        table.words(cut_text(best == nullptr ? "" : short_config(best->assignment), 120));
    }
    return std::move(table).take() +
           "<p class=\"cap\">Whether runs did the same work, and so may be compared, is what hopscotch compare checks.</p>";
}

}  // namespace hopscotch
