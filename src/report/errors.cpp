// SPDX-License-Identifier: Apache-2.0
// The errors of the best model on the validation rows: scores of each class, or residuals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/counted.hpp"
#include "experiment/loss_traits.hpp"
#include "report/html_table.hpp"
#include "report/page_text.hpp"
#include "report/sections.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_class_rows = 100, k_most_pairs = 15, k_most_targets = 8, k_whole_matrix = 10;

void add_score(HtmlTable& table, double value) {
    table.number(value, std::isfinite(value) ? fmt::format("{:.3f}", value) : "-");
}

std::string classes_table(std::vector<FoundErrors::Class> const& classes, std::string_view what) {
    if (classes.empty()) return "";
    using enum HtmlTable::Kind;
    HtmlTable table({{what}, {"rows", numbers}, {"precision", numbers}, {"recall", numbers}, {"F1", numbers}});
    for (std::size_t i = 0; i < std::min(classes.size(), k_most_class_rows); ++i) {
        table.begin_row();
        table.words(cut_text(classes[i].name, 60));
        table.number(classes[i].rows, fmt::format("{:.0f}", classes[i].rows));
        for (auto const score : {classes[i].precision(), classes[i].recall(), classes[i].f1()}) add_score(table, score);
    }
    auto const out = std::move(table).take();
    if (classes.size() <= k_most_class_rows) return out;
    return out + note(fmt::format("{} of {} are here; best/validation.json has all.", k_most_class_rows, classes.size()));
}

std::string confused_table(std::vector<FoundErrors::Pair> const& pairs) {
    if (pairs.empty()) return "";
    HtmlTable table({{"true class"}, {"predicted"}, {"rows", HtmlTable::Kind::numbers}});
    for (std::size_t i = 0; i < std::min(pairs.size(), k_most_pairs); ++i) {
        table.begin_row();
        table.words(cut_text(pairs[i].actual, 60));
        table.words(cut_text(pairs[i].predicted, 60));
        table.number(pairs[i].rows, fmt::format("{:.0f}", pairs[i].rows));
    }
    return "<h3>Most often confused</h3>" + std::move(table).take();
}

std::string residuals_table(std::vector<FoundErrors::Target> const& targets) {
    if (targets.empty()) return "";
    using enum HtmlTable::Kind;
    std::vector<HtmlTable::Column> columns{{"target"}};
    for (auto const* name : {"R2", "MAE", "RMSE", "mean", "deviation"}) columns.push_back({name, numbers});
    for (auto const& name : k_residual_quantile_names) columns.push_back({name, numbers});
    HtmlTable table(columns);
    for (std::size_t i = 0; i < std::min(targets.size(), k_most_targets); ++i) {
        auto const& target = targets[i];
        table.begin_row();
        table.words(cut_text(target.name, 60));
        for (auto const value : {target.r2, target.mae, target.rmse, target.mean, target.stddev})
            table.number(value, short_number(value));
        for (auto const value : target.quantiles) table.number(value, short_number(value));
    }
    return "<h3>Residuals: predicted minus target</h3>" + std::move(table).take();
}

}  // namespace

std::string errors_section(RunResults const& data) {
    if (!data.errors) return "";
    auto const& errors = *data.errors;
    std::string out;
    bool const labels = loss_traits(data.run.experiment.train.loss).answers == Answers::labels;
    out += classes_table(errors.classes, labels ? "label" : "class");
    if (errors.classes.size() > k_whole_matrix || errors.classes.empty()) out += confused_table(errors.confused);
    out += residuals_table(errors.targets);
    if (out.empty()) return "";
    return fmt::format("<p>The model in best/ (trial {} after epoch {}) on {}.</p><div class=\"pictures\"></div>",
                       errors.trial, errors.epoch, counted(errors.rows, "validation row")) +
           out;
}

}  // namespace hopscotch
