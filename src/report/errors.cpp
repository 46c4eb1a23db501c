// SPDX-License-Identifier: Apache-2.0
// The errors of the best model on the validation rows: confusion matrix and scores of each class, or residuals.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/counted.hpp"
#include "experiment/loss_traits.hpp"
#include "report/sections.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_class_rows = 100, k_most_pairs = 15, k_most_drawn = 50, k_texts_in_cells = 20,
                      k_most_targets = 8, k_most_spots = 1000, k_whole_matrix = 10;

std::string name_cell(std::string_view name) { return fmt::format("<td>{}</td>", escaped(cut_text(name, 60))); }

std::string number_cell(std::string const& text) { return fmt::format("<td class=\"n\">{}</td>", text); }

std::string score_cell(double value) {
    if (!std::isfinite(value)) return "<td class=\"n\" data-v=\"\">-</td>";
    return fmt::format("<td class=\"n\" data-v=\"{0:.6g}\">{0:.3f}</td>", value);
}

// numbers_from: the first column of numbers.
std::string table_of(std::vector<std::string_view> const& names, std::size_t numbers_from, std::string const& rows) {
    std::string head;
    for (std::size_t i = 0; i < names.size(); ++i)
        head += fmt::format("<th scope=\"col\"{}>{}</th>", i < numbers_from ? "" : " class=\"n\"", names[i]);
    return fmt::format(
        "<div class=\"scroll\"><table class=\"sortable\"><thead><tr>{}</tr></thead><tbody>{}</tbody></table></div>", head,
        rows);
}

std::string classes_table(std::vector<FoundErrors::Class> const& classes, std::string_view what) {
    if (classes.empty()) return "";
    std::string rows;
    for (std::size_t i = 0; i < std::min(classes.size(), k_most_class_rows); ++i) {
        auto const& each = classes[i];
        rows += "<tr>" + name_cell(each.name) + fmt::format("<td class=\"n\" data-v=\"{0:.0f}\">{0:.0f}</td>", each.rows) +
                score_cell(each.precision()) + score_cell(each.recall()) + score_cell(each.f1()) + "</tr>";
    }
    auto const out = table_of({what, "rows", "precision", "recall", "F1"}, 1, rows);
    if (classes.size() <= k_most_class_rows) return out;
    return out + note(fmt::format("{} of {} are here; best/validation.json has all.", k_most_class_rows, classes.size()));
}

std::string confused_table(std::vector<FoundErrors::Pair> const& pairs) {
    std::string rows;
    for (std::size_t i = 0; i < std::min(pairs.size(), k_most_pairs); ++i)
        rows += "<tr>" + name_cell(pairs[i].actual) + name_cell(pairs[i].predicted) +
                number_cell(fmt::format("{:.0f}", pairs[i].rows)) + "</tr>";
    return rows.empty() ? "" : "<h3>Most often confused</h3>" + table_of({"true class", "predicted", "rows"}, 2, rows);
}

class ConfusionPicture {
public:
    explicit ConfusionPicture(FoundErrors const& errors)
        : errors_(errors),
          cell_(std::clamp(560 / static_cast<double>(errors.confusion.size()), 12.0, 44.0)),
          svg_(k_left + side() + 20, k_top + side() + 24, "confusion matrix", "matrix") {}

    std::string take() && {
        svg_.text({k_left + side() / 2, 16}, "name mid", "predicted");
        svg_.text({4, k_top - 8}, "name", "true class");
        for (std::size_t r = 0; r < errors_.confusion.size(); ++r) draw_line(r);
        return std::move(svg_).take();
    }

private:
    static constexpr double k_left = 150, k_top = 44;
    double side() const { return cell_ * static_cast<double>(errors_.confusion.size()); }

    std::string name(std::size_t i) const {
        return i < errors_.classes.size() ? errors_.classes[i].name : fmt::format("{}", i);
    }

    void draw_line(std::size_t r) {
        double const y = k_top + cell_ * static_cast<double>(r);
        svg_.text({k_left - 8, y + cell_ / 2 + 4}, "tick end", cut_text(name(r), 20));
        if (cell_ >= 20)
            svg_.text({k_left + cell_ * (static_cast<double>(r) + 0.5), k_top - 8}, "tick mid",
                      cut_text(name(r), static_cast<std::size_t>(cell_ / 7)));
        for (std::size_t c = 0; c < errors_.confusion.size(); ++c) draw_cell(r, c, y);
    }

    // The shade is the share of the true class.
    void draw_cell(std::size_t r, std::size_t c, double y) {
        double rows = 0;
        for (auto const value : errors_.confusion[r]) rows += value;
        auto const value = errors_.confusion[r][c], share = rows > 0 ? std::clamp(value / rows, 0.0, 1.0) : 0;
        double const x = k_left + cell_ * static_cast<double>(c);
        svg_.rect({x, y, x + cell_ - 1, y + cell_ - 1}, r == c ? "f1" : "f2",
                  fmt::format("{} taken for {}: {:.0f} of {:.0f} rows", cut_text(name(r), 60), cut_text(name(c), 60), value,
                              rows),
                  fmt::format("fill-opacity=\"{:.3f}\"", share > 0 ? 0.08 + 0.92 * share : 0.03));
        if (errors_.confusion.size() <= k_texts_in_cells && value > 0)
            svg_.text({x + cell_ / 2, y + cell_ / 2 + 4}, share > 0.6 ? "mid inverse" : "mid", fmt::format("{:.0f}", value));
    }

    FoundErrors const& errors_;
    double cell_;
    Svg svg_;
};

// Predictions over targets, with the line of the perfect model.
std::string predictions_picture(FoundErrors::Target const& target) {
    auto const name = cut_text(target.name, 60);
    std::vector<double> values;
    for (auto const& [answer, predicted] : target.sample)
        if (std::isfinite(answer) && std::isfinite(predicted)) values.insert(values.end(), {answer, predicted});
    if (values.empty()) return "";
    auto const [low, high] = std::ranges::minmax(values);
    constexpr PlotBox box{80, 28, 420, 330};
    auto axes = make_axes(box, AxisScale(ScaleKind::linear, low, high), AxisScale(ScaleKind::linear, low, high));
    axes.x_ticks = axes.y_ticks = 4;
    axes.x_name = "target";
    axes.y_name = "predicted";
    Svg svg(440, 372, fmt::format("predictions over the targets, {}", name), "matrix");
    draw_axes(svg, axes);
    svg.path({axes.at(low, low), axes.at(high, high)}, "best-line");
    auto const shown = std::min(values.size() / 2, k_most_spots);
    for (std::size_t i = 0; i < shown; ++i) svg.circle(axes.at(values[2 * i], values[2 * i + 1]), 2.5, "dot f1");
    return figure(std::move(svg).take(), fmt::format("{}, {} rows. The line is the perfect model.", escaped(name), shown));
}

std::string residuals(std::vector<FoundErrors::Target> const& targets) {
    if (targets.empty()) return "";
    std::string rows, pictures;
    auto const count = std::min(targets.size(), k_most_targets);
    for (std::size_t i = 0; i < count; ++i) {
        auto const& target = targets[i];
        rows += "<tr>" + name_cell(target.name);
        for (auto const value : {target.r2, target.mae, target.rmse, target.mean, target.stddev})
            rows += number_cell(short_number(value));
        for (auto const value : target.quantiles) rows += number_cell(short_number(value));
        rows += "</tr>";
        pictures += predictions_picture(target);
    }
    std::vector<std::string_view> head{"target", "R2", "MAE", "RMSE", "mean", "deviation"};
    head.insert(head.end(), k_residual_quantile_names.begin(), k_residual_quantile_names.end());
    return pictures + "<h3>Residuals: predicted minus target</h3>" + table_of(head, 1, rows);
}

}  // namespace

std::string errors_section(RunResults const& data) {
    if (!data.errors) return "";
    auto const& errors = *data.errors;
    std::string out;
    if (!errors.confusion.empty() && errors.confusion.size() <= k_most_drawn)
        out += figure(ConfusionPicture(errors).take(),
                      "Rows by true class (line) and predicted class (column). Blue: right; orange: wrong.");
    bool const labels = loss_traits(data.run.experiment.train.loss).answers == Answers::labels;
    out += classes_table(errors.classes, labels ? "label" : "class");
    if (errors.classes.size() > k_whole_matrix || errors.classes.empty()) out += confused_table(errors.confused);
    out += residuals(errors.targets);
    if (out.empty()) return "";
    return fmt::format("<p>The model in best/ (trial {} after epoch {}) on {}.</p>", errors.trial, errors.epoch,
                       counted(errors.rows, "validation row")) +
           out;
}

}  // namespace hopscotch
