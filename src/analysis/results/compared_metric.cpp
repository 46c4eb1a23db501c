// SPDX-License-Identifier: Apache-2.0
#include "analysis/results/compared_metric.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/json_reader.hpp"
#include "experiment/metric.hpp"

namespace hopscotch {
namespace {

// Those of the table, and those of the user's own that some lap has.
std::vector<std::string> names_of_metrics(Journal const& journal) {
    auto out = metric_names();
    for (auto const& lap : journal.laps)
        for (auto const& score : lap.valid.own)
            if (std::ranges::count(out, score.name) == 0) out.push_back(score.name);
    return out;
}

// False for a metric without information: top-5 of at most five classes, perplexity of rows that are not tokens (no F1).
bool says_something(RunResults const& data, std::string_view name) {
    auto const any = [&](auto const& holds) {
        return std::ranges::any_of(data.trials, [&](auto const& trial) { return std::ranges::any_of(trial.curve, holds); });
    };
    auto const has = [](std::string_view metric) {
        return [metric](LapPoint const& point) { return std::isfinite(metric_value(point.metrics, metric)); };
    };
    if (name == k_val_top5)
        return any([](LapPoint const& point) { return metric_value(point.metrics, k_val_top5) < 1; }) &&
               !any(has(k_val_auc));
    if (name == k_val_perplexity && any(has(k_val_f1))) return false;
    return any(has(name));
}

}  // namespace

std::vector<std::string> other_metrics(RunResults const& data) {
    std::vector<std::string> out;
    for (auto const& name : names_of_metrics(data.run.journal))
        if (name != data.metric && says_something(data, name)) out.push_back(name);
    return out;
}

void choose_metric(RunResults& data, ComparedMetric const& metric) {
    auto const& search = data.run.experiment.search;
    data.metric = metric.name.empty() ? search.metric : metric.name;
    auto const known = names_of_metrics(data.run.journal);
    if (std::ranges::count(known, data.metric) == 0 && !metric.name.empty()) {
        auto const near = nearest(data.metric, known);
        throw ConfigError(fmt::format("--metric {}: is unknown (known: {}){}", data.metric, fmt::join(known, ", "),
                                      near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near)));
    }
    if (metric.mode)
        data.mode = *metric.mode;
    else if (data.metric == search.metric)
        data.mode = search.mode;
    else if (is_metric(data.metric))
        data.mode = natural_mode(data.metric);
    else
        throw ConfigError(
            fmt::format("--metric {}: is a metric of the model (nothing says which values are better); add "
                        "--mode max or --mode min",
                        data.metric));
}

}  // namespace hopscotch
