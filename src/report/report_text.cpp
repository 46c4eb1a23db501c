// SPDX-License-Identifier: Apache-2.0
#include "report/report_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/counted.hpp"
#include "experiment/metric.hpp"
#include "report/page_text.hpp"
#include "report/sections.hpp"
#include "rundir/summary.hpp"
#include "view/comparisons.hpp"
#include "view/leaderboard.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_others = 2, k_whole_matrix = 12, k_most_classes = 20, k_most_pairs = 10, k_most_targets = 8;

// A table of columns that are as wide as their widest cell; the first one is to the left, the others to the right. A line
// that is too long loses its last cells.
std::string aligned(std::vector<std::vector<std::string>> const& rows, std::size_t width) {
    std::vector<std::size_t> widest;
    for (auto const& row : rows)
        for (std::size_t c = 0; c < row.size(); ++c) {
            widest.resize(std::max(widest.size(), c + 1));
            widest[c] = std::max(widest[c], row[c].size());
        }
    std::string out;
    for (auto const& row : rows) {
        std::string line = "  ";
        for (std::size_t c = 0; c < row.size(); ++c) {
            auto const cell = c == 0 ? fmt::format("{:<{}}", row[c], widest[c]) : fmt::format("  {:>{}}", row[c], widest[c]);
            if (line.size() + cell.size() > width) break;
            line += cell;
        }
        out += line + "\n";
    }
    return out;
}

std::string trials_table(RunResults const& data, std::size_t width) {
    auto others = data.has_copies() ? std::vector<std::string>() : data.others;
    std::erase(others, k_val_top5);
    others.resize(std::min({others.size(), k_most_others, width < 60 ? std::size_t{0} : k_most_others}));
    std::vector<std::vector<std::string>> rows{{data.has_copies() ? "trials" : "trial", data.metric, "epochs"}};
    rows.front().insert(rows.front().end(), others.begin(), others.end());
    std::vector<Assignment const*> configurations{nullptr};
    for (std::size_t r = 0; r < std::min(data.ranking.size(), k_leaderboard_rows); ++r) {
        auto const& group = data.groups[data.ranking[r]];
        auto const &first = data.trials[group.trials.front()], &last = data.trials[group.trials.back()];
        auto const name = numbers_text(first.id.value, last.id.value, std::ssize(group.trials));
        auto& row = rows.emplace_back();
        row = {name, short_number(group.value), fmt::format("{}", group.epochs)};
        for (auto const& other : others)
            row.push_back(short_number(first.best ? metric_value(first.best->metrics, other) : NAN));
        configurations.push_back(&group.assignment);
    }
    auto const table = aligned(rows, width);
    auto const room = width - std::min(width, table.find('\n') + 2);
    std::string out;
    for (std::size_t r = 0, at = 0; r < rows.size(); ++r) {
        auto const end = table.find('\n', at);
        auto const* configuration = configurations[r];
        out += fmt::format("{}  {}\n", table.substr(at, end - at),
                           configuration == nullptr
                               ? "config"
                               : cut_text(short_config(*configuration), room - std::min<std::size_t>(room, 3)));
        at = end + 1;
    }
    if (data.ranking.size() > k_leaderboard_rows)
        out += fmt::format("  ... {} more\n", data.ranking.size() - k_leaderboard_rows);
    return out;
}

std::string classes_text(std::vector<FoundErrors::Class> const& classes, std::size_t width) {
    if (classes.empty()) return "";
    std::vector<std::vector<std::string>> rows{{"class", "rows", "precision", "recall", "F1"}};
    auto const score = [](double value) { return std::isfinite(value) ? fmt::format("{:.3f}", value) : std::string("-"); };
    for (std::size_t i = 0; i < std::min(classes.size(), k_most_classes); ++i)
        rows.push_back({cut_text(classes[i].name, 30), fmt::format("{:.0f}", classes[i].rows), score(classes[i].precision()),
                        score(classes[i].recall()), score(classes[i].f1())});
    auto const out = aligned(rows, width);
    return classes.size() > k_most_classes ? out + fmt::format("  ... {} more\n", classes.size() - k_most_classes) : out;
}

std::string confusion_text(FoundErrors const& errors, std::size_t width) {
    if (errors.confusion.empty() || errors.confusion.size() > k_whole_matrix) {
        std::vector<std::vector<std::string>> rows{{"true class", "predicted", "rows"}};
        for (std::size_t i = 0; i < std::min(errors.confused.size(), k_most_pairs); ++i)
            rows.push_back({cut_text(errors.confused[i].actual, 30), cut_text(errors.confused[i].predicted, 30),
                            fmt::format("{:.0f}", errors.confused[i].rows)});
        return rows.size() == 1 ? "" : "most often confused:\n" + aligned(rows, width);
    }
    std::vector<std::vector<std::string>> rows{{"true \\ predicted"}};
    for (auto const& each : errors.classes) rows.front().push_back(cut_text(each.name, 10));
    for (std::size_t r = 0; r < errors.confusion.size(); ++r) {
        auto& row = rows.emplace_back();
        row.push_back(r < errors.classes.size() ? cut_text(errors.classes[r].name, 20) : fmt::format("{}", r));
        for (auto const value : errors.confusion[r]) row.push_back(fmt::format("{:.0f}", value));
    }
    return aligned(rows, width);
}

std::string residuals_text(std::vector<FoundErrors::Target> const& targets, std::size_t width) {
    if (targets.empty()) return "";
    std::vector<std::vector<std::string>> rows{{"target", "R2", "MAE", "RMSE", "residual: mean", "deviation"}};
    for (auto const& name : k_residual_quantile_names) rows.front().emplace_back(name);
    for (std::size_t i = 0; i < std::min(targets.size(), k_most_targets); ++i) {
        auto const& target = targets[i];
        auto& row = rows.emplace_back(1, cut_text(target.name, 20));
        for (auto const value : {target.r2, target.mae, target.rmse, target.mean, target.stddev})
            row.push_back(short_number(value));
        for (auto const value : target.quantiles) row.push_back(short_number(value));
    }
    return aligned(rows, width);
}

std::string errors_text(FoundErrors const& errors, std::size_t width) {
    auto const out =
        confusion_text(errors, width) + classes_text(errors.classes, width) + residuals_text(errors.targets, width);
    if (out.empty()) return "";
    return fmt::format("\nthe model in best/ (trial {} after epoch {}) on {}:\n", errors.trial, errors.epoch,
                       counted(errors.rows, "validation row")) +
           out;
}

std::string front_text(RunResults const& data) {
    auto front = pareto_from_json(data.summary);
    if (!front || front->points.empty()) return "";
    front->compared = data.groups.size();
    for (auto& point : front->points)
        if (point.trial.index() < data.trials.size()) point.epochs = data.trials[point.trial.index()].epochs;
    return pareto_text(*front, data.has_copies() ? "configurations" : "trials");
}

}  // namespace

std::string report_text(RunResults const& data, int columns) {
    auto const width = static_cast<std::size_t>(std::max(columns, 40));
    auto out = fmt::format("{}: {}, {}\n", data.run.directory.string(), data.run.status(),
                           counted(std::ssize(data.trials), "trial"));
    if (data.ranking.empty()) return out + fmt::format("no trial has a finite {} yet\n", data.metric);
    out += trials_table(data, width);
    if (auto const second = second_place(data); !second.empty()) out += fmt::format("{}\n", second);
    out += front_text(data);
    return data.errors ? out + errors_text(*data.errors, width) : out;
}

}  // namespace hopscotch
