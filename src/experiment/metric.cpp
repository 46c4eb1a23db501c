// SPDX-License-Identifier: Apache-2.0
#include "experiment/metric.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.hpp"
#include "experiment/config.hpp"
#include "experiment/loss_traits.hpp"

namespace hopscotch {
namespace {

using Scores = ValidationScores;
using Needs = MetricTraits::Needs;
using Fits = MetricTraits::Fits;
using Column = MetricTraits::Column;
using MetricShown = MetricTraits::Shown;

double mean_of(Scores const& of, double Scores::* sum) { return of.*sum / static_cast<double>(of.rows); }
double mean_loss(Scores const& of) { return mean_of(of, &Scores::loss); }

}  // namespace

// The order is that of the columns and keys in files.
std::vector<MetricTraits> const& metric_traits() {
    static std::vector<MetricTraits> const table = {
        {.name = "train_loss", .mode = Mode::min, .column = Column::always, .shown = MetricShown::never},
        {.name = "val_loss", .mode = Mode::min, .value = mean_loss, .column = Column::always},
        {.name = "val_accuracy",
         .needs = Needs::classes,
         .value = [](Scores const& of) { return mean_of(of, &Scores::correct); },
         .column = Column::always,
         .is_share = true},
        {.name = "val_top5",
         .needs = Needs::one_class,
         .value = [](Scores const& of) { return mean_of(of, &Scores::top5); },
         .column = Column::always,
         .is_share = true,
         .shown = MetricShown::in_predictions},
        {.name = "val_f1",
         .needs = Needs::classes,
         .value = [](Scores const& of) { return of.f1; },
         .fits = Fits::no_tokens},
        {.name = "val_auc",
         .needs = Needs::classes,
         .value = [](Scores const& of) { return of.auc; },
         .fits = Fits::two_classes_or_labels},
        {.name = "val_mae", .mode = Mode::min, .needs = Needs::targets, .value = [](Scores const& of) { return of.mae; }},
        {.name = "val_r2", .needs = Needs::targets, .value = [](Scores const& of) { return of.r2; }},
        {.name = "val_rmse", .mode = Mode::min, .needs = Needs::targets, .value = [](Scores const& of) { return of.rmse; }},
        {.name = "val_perplexity",
         .mode = Mode::min,
         .needs = Needs::one_class,
         .value = [](Scores const& of) { return std::exp(mean_loss(of)); },
         .shown = MetricShown::for_tokens},
    };
    return table;
}

MetricTraits const& metric_traits(std::string_view name) {
    auto const found = std::ranges::find(metric_traits(), name, &MetricTraits::name);
    if (found != metric_traits().end()) return *found;
    throw Error(fmt::format("metric \"{}\" is unknown (known: {})", name, fmt::join(metric_names(), ", ")));
}

std::vector<std::string> metric_names() {
    std::vector<std::string> out;
    for (auto const& row : metric_traits()) out.emplace_back(row.name);
    return out;
}

bool is_metric(std::string_view name) { return std::ranges::count(metric_traits(), name, &MetricTraits::name) > 0; }

bool may_be_own_metric(std::string_view name) {
    constexpr std::string_view k_start = "val_", k_letters = "abcdefghijklmnopqrstuvwxyz0123456789_";
    return name.size() > k_start.size() && name.starts_with(k_start) && !is_metric(name) &&
           name.find_first_not_of(k_letters) == name.npos;
}

Mode natural_mode(std::string_view metric) { return metric_traits(metric).mode; }

std::string_view needed_by(std::string_view metric) {
    constexpr std::array<std::string_view, 4> words{"rows", "classes", "one class a row", "targets"};
    return words[static_cast<std::size_t>(metric_traits(metric).needs)];
}

bool has_metric(LossKind loss, std::string_view metric) { return has_metric(loss, metric_traits(metric)); }

bool has_metric(LossKind loss, MetricTraits const& metric) {
    auto const answers = loss_traits(loss).answers;
    switch (metric.needs) {
        case Needs::rows: return true;
        case Needs::classes: return answers != Answers::targets;
        case Needs::one_class: return answers == Answers::one_class;
        case Needs::targets: break;
    }
    return answers == Answers::targets;
}

}  // namespace hopscotch
