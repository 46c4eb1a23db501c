// SPDX-License-Identifier: Apache-2.0
#include "analysis/compare/comparison_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>

namespace hopscotch {
namespace {

constexpr std::size_t k_usual_head = 11;  // short words share a line as far as this
constexpr std::array<std::pair<double, std::string_view>, 5> k_bytes{
    {{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "bytes"}}};

std::vector<std::string> injected(ComparedRun const& run) {
    std::vector<std::string> out;
    if (auto const* texts = run.summary.find("injected"); texts != nullptr && texts->is_array())
        for (auto const& text : texts->array()) out.push_back(text.is_string() ? text.string() : text.dump());
    return out;
}

// One unit for a whole row, so that its numbers can be compared by eye.
std::pair<double, std::string_view> bytes_unit(MeasureRow const& row) {
    double most = 0;
    for (auto const& value : row.values) most = std::max(most, value.value_or(0));
    for (auto const& unit : k_bytes)
        if (most >= unit.first) return unit;
    return k_bytes.back();
}

std::string name_of(MeasureRow const& row) {
    switch (row.quantity) {
        case Quantity::seconds: return row.name + ", s";
        case Quantity::fraction: return row.name + ", %";
        case Quantity::bytes: return fmt::format("{}, {}", row.name, bytes_unit(row).second);
        case Quantity::metric:
        case Quantity::count: break;
    }
    return row.name;
}

std::string four_digits(double value) {
    double const size = std::abs(value);
    if (size == 0) return "0";
    if (size < 0.001 || size >= 1e7) return fmt::format("{:.1e}", value);
    return fmt::format("{:.{}f}", value, size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

std::string value_text(MeasureRow const& row, std::size_t run) {
    if (!row.values[run]) return row.absent;
    double const value = *row.values[run];
    if (row.quantity == Quantity::fraction) return fmt::format("{:.1f}", 100 * value);
    if (row.quantity == Quantity::bytes) return four_digits(value / bytes_unit(row).first);
    if (row.quantity == Quantity::metric) return fmt::format("{:.4f}", value);
    return row.quantity == Quantity::count ? fmt::format("{:.0f}", value) : four_digits(value);
}

std::string ratio_text(MeasureRow const& row, std::size_t run) {
    auto const ratio = row.ratio(run);
    if (!ratio) return "";
    if (*ratio != 0 && std::abs(*ratio) < 0.01) return fmt::format("{:.0e}x", *ratio);
    return fmt::format("{:.{}f}x", *ratio, *ratio >= 100 ? 0 : *ratio >= 10 ? 1 : 2);
}

// Lines of at most this many letters, cut at a space, else after an underscore, else anywhere.
std::vector<std::string> wrapped(std::string rest, std::size_t widest) {
    std::vector<std::string> out;
    while (!rest.empty()) {
        auto end = rest.size();
        if (end > widest) {
            end = rest.rfind(' ', widest);
            if (end == rest.npos || end == 0) {
                auto const underscore = rest.rfind('_', widest - 1);
                end = underscore == rest.npos ? widest : underscore + 1;
            }
        }
        out.push_back(rest.substr(0, end));
        rest.erase(0, end);
        while (rest.starts_with(' ')) rest.erase(0, 1);
    }
    return out;
}

std::size_t longest_word(std::string_view text) {
    std::size_t longest = 0;
    while (!text.empty()) {
        auto const end = std::min(text.find(' '), text.size());
        longest = std::max(longest, end);
        text.remove_prefix(std::min(text.size(), end + 1));
    }
    return longest;
}

// The folder, and below it the strategy unless that is the folder's name. room: of a column that has the width to itself.
std::vector<std::string> head_of(RunComparison const& comparison, std::size_t run, std::size_t room) {
    auto const& compared = comparison.runs[run];
    auto const folder = std::filesystem::path(compared.dir()).lexically_normal();
    auto const name = folder.has_filename() ? folder.filename().string() : folder.parent_path().filename().string();
    std::vector<std::string> out;
    if (name != compared.label) out = wrapped(name, room);
    auto const label = compared.label + (injected(compared).empty() ? "" : " *");
    std::ranges::copy(wrapped(label, std::min(room, std::max(k_usual_head, longest_word(label)))), std::back_inserter(out));
    return out;
}

struct Column {
    std::vector<std::string> head, values, ratios;  // ratios: all of one width, or all empty
    std::size_t width = 0;
};

Column column_of(std::vector<MeasureRow const*> const& rows, std::size_t run, std::vector<std::string> head) {
    Column out{std::move(head), {}, {}, 0};
    std::size_t widest_ratio = 0, widest_value = 0;
    for (auto const* row : rows) {
        out.values.push_back(value_text(*row, run));
        out.ratios.push_back(ratio_text(*row, run));
        widest_value = std::max(widest_value, out.values.back().size());
        widest_ratio = std::max(widest_ratio, out.ratios.back().size());
    }
    for (auto& ratio : out.ratios) ratio = widest_ratio == 0 ? "" : fmt::format(" {:>{}}", ratio, widest_ratio);
    out.width = widest_value + (widest_ratio == 0 ? 0 : widest_ratio + 1);
    for (auto const& line : out.head) out.width = std::max(out.width, line.size());
    return out;
}

std::string trimmed(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line + "\n";
}

// The columns [first, last) beside the rows' names.
std::string block(std::vector<std::string> const& names, std::vector<Column> const& columns, std::size_t first,
                  std::size_t last) {
    std::size_t widest_name = 0, head_lines = 0;
    for (auto const& name : names) widest_name = std::max(widest_name, name.size());
    for (auto c = first; c < last; ++c) head_lines = std::max(head_lines, columns[c].head.size());
    std::string out;
    for (std::size_t line = 0; line < head_lines; ++line) {
        std::string text(widest_name, ' ');
        for (auto c = first; c < last; ++c) {
            auto const& head = columns[c].head;
            text += fmt::format("  {:>{}}", line < head.size() ? head[line] : "", columns[c].width);
        }
        out += trimmed(text);
    }
    for (std::size_t row = 0; row < names.size(); ++row) {
        auto text = fmt::format("{:<{}}", names[row], widest_name);
        for (auto c = first; c < last; ++c)
            text += fmt::format("  {:>{}}", columns[c].values[row] + columns[c].ratios[row], columns[c].width);
        out += trimmed(text);
    }
    return out;
}

std::string table(RunComparison const& comparison, std::vector<MeasureRow> const& measures, std::size_t width) {
    std::vector<MeasureRow const*> rows;
    std::vector<std::string> names;
    std::size_t widest_name = 0;
    for (auto const& row : measures) {
        rows.push_back(&row);
        names.push_back(name_of(row));
        widest_name = std::max(widest_name, names.back().size());
    }
    std::vector<Column> columns;
    auto const room = std::max(k_usual_head, width - std::min(width, widest_name + 2));
    for (std::size_t run = 0; run < comparison.runs.size(); ++run)
        columns.push_back(column_of(rows, run, head_of(comparison, run, room)));
    std::string out;
    for (std::size_t first = 0, last = 0; first < columns.size(); first = last) {
        std::size_t used = widest_name;
        for (last = first; last < columns.size(); ++last) {
            if (last > first && used + 2 + columns[last].width > width) break;
            used += 2 + columns[last].width;
        }
        out += (first == 0 ? "" : "\n") + block(names, columns, first, last);
    }
    return out;
}

std::string footnotes(RunComparison const& comparison) {
    auto const& base = comparison.runs.front();
    std::string out;
    if (comparison.runs.size() > 1)
        out += fmt::format("\nx: times {} ({}). sent: mean of the trainers; most: of one of them\n", base.label, base.dir());
    if (comparison.target.value)
        out += fmt::format("target: {} {:.4f}, reached by any trial; epochs: of the trial that needs fewest\n",
                           comparison.target.metric, *comparison.target.value);
    for (auto const& run : comparison.runs)
        if (auto const texts = injected(run); !texts.empty())
            out += fmt::format("* {}: slowed down on purpose ({})\n", run.dir(), fmt::join(texts, ", "));
    for (auto const& run : comparison.runs)
        if (auto const* synthetic = run.summary.find("synthetic"); synthetic != nullptr)
            out += fmt::format("{}: SYNTHETIC model, its losses and accuracies mean nothing\n", run.dir());
    for (auto const& reason : comparison.reasons) out += fmt::format("NOT COMPARABLE {}\n", reason);
    for (auto const& note : comparison.notes) out += fmt::format("note: {}\n", note);
    return out;
}

Json number_or_null(std::optional<double> const& value) { return value ? Json(*value) : Json(); }

// Bytes and counts are written as they are.
Json value_json(MeasureRow const& row, std::size_t run) {
    bool const whole = row.quantity == Quantity::bytes || row.quantity == Quantity::count;
    auto const& value = row.values[run];
    return value && whole && std::floor(*value) == *value ? Json(static_cast<std::int64_t>(*value)) : number_or_null(value);
}

void add_measures(Json& run, std::vector<MeasureRow> const& rows, std::size_t index, std::string const& values,
                  std::string const& ratios) {
    run[values] = Json(Json::Object{});
    run[ratios] = Json(Json::Object{});
    for (auto const& row : rows) {
        run[values][row.key] = value_json(row, index);
        run[ratios][row.key] = number_or_null(row.ratio(index));
    }
}

}  // namespace

std::string comparison_text(RunComparison const& comparison, std::size_t columns) {
    auto out = table(comparison, comparison.measured, columns);
    if (!comparison.predicted.empty())
        out += fmt::format("\ncost model over {} (x: times the run's own measurement)\n{}", comparison.link,
                           table(comparison, comparison.predicted, columns));
    return out + footnotes(comparison);
}

Json comparison_json(RunComparison const& comparison) {
    Json::Array runs;
    for (std::size_t i = 0; i < comparison.runs.size(); ++i) {
        auto const& run = comparison.runs[i];
        auto out = Json::object({{"dir", run.dir()},
                                 {"strategy", run.recorded.facts.strategy},
                                 {"label", run.label},
                                 {"status", run.status()},
                                 {"injected", injected(run)}});
        add_measures(out, comparison.measured, i, "values", "ratios");
        if (!comparison.predicted.empty()) add_measures(out, comparison.predicted, i, "predicted", "predicted_to_measured");
        runs.push_back(std::move(out));
    }
    return Json::object({{"base", comparison.runs.front().dir()},
                         {"metric", comparison.target.metric},
                         {"mode", comparison.target.mode == Mode::max ? "max" : "min"},
                         {"target", number_or_null(comparison.target.value)},
                         {"runs", std::move(runs)},
                         {"reasons", comparison.reasons},
                         {"notes", comparison.notes}});
}

}  // namespace hopscotch
