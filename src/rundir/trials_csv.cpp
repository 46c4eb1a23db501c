// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/csv.hpp"
#include "core/hash.hpp"
#include "experiment/measures.hpp"
#include "experiment/space.hpp"
#include "rundir/summary.hpp"

namespace hopscotch {
namespace {

std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : std::string(); }

std::string csv_text(Json const& value) { return value.is_string() ? value.string() : value.dump(); }

// Every searched path, in the order in which trials first have it ("when" leaves some out).
std::vector<std::string> searched_paths(Summary const& summary) {
    std::vector<std::string> out;
    for (auto const& trial : summary.trials) add_new_paths(trial.assignment, out);
    return out;
}

std::string joined(std::vector<std::string> const& fields) {
    std::string line;
    for (std::size_t i = 0; i < fields.size(); ++i) line += (i > 0 ? "," : "") + csv_field(fields[i]);
    return line + "\n";
}

// Metrics that are newer than the fixed first columns, if some trial has them: columns for every task would be mostly empty.
std::vector<std::string> later_metrics(Summary const& summary) {
    std::vector<std::string> out;
    for (auto const& metric : metric_traits()) {
        auto const has_it = [&](TrialSummary const& trial) {
            return trial.tally.best && std::isfinite(metric_value(*trial.tally.best, metric.name));
        };
        if (metric.column == MetricTraits::Column::where_it_exists && std::ranges::any_of(summary.trials, has_it))
            out.emplace_back(metric.name);
    }
    for (auto const& trial : summary.trials) {
        if (!trial.tally.best) continue;
        for (auto const& score : trial.tally.best->own)
            if (std::ranges::find(out, score.name) == out.end()) out.push_back(score.name);
    }
    return out;
}

// The metrics of the first columns.
std::vector<std::string> first_metrics() {
    std::vector<std::string> out;
    for (auto const& metric : metric_traits())
        if (metric.column == MetricTraits::Column::always) out.emplace_back(metric.name);
    return out;
}

// The columns that not every run has.
struct Columns {
    std::vector<std::string> paths, metrics, measures;
    std::set<TrialId> front = {};  // of search.objectives
    bool has_front = false, gpu = false;
};

Columns columns_of(Summary const& summary) {
    Columns out{searched_paths(summary), later_metrics(summary), {}};
    out.gpu = has_gpu_use(summary);
    out.has_front = summary.pareto && summary.pareto->steers;
    if (!out.has_front) return out;
    std::ranges::copy_if(summary.pareto->names, std::back_inserter(out.measures), is_measure);
    for (auto const& point : summary.pareto->points) out.front.insert(point.trial);
    for (auto const& group : summary.groups)
        if (out.front.contains(group.trials.front())) out.front.insert(group.trials.begin(), group.trials.end());
    return out;
}

std::string row(TrialSummary const& trial, Columns const& columns) {
    std::vector<std::string> fields{fmt::format("{}", trial.id.value), trial.status, trial.reason,
                                    fmt::format("{}", trial.tally.epochs)};
    for (auto const& path : columns.paths) {
        auto const found =
            std::find_if(trial.assignment.begin(), trial.assignment.end(), [&](auto const& e) { return e.first == path; });
        fields.push_back(found == trial.assignment.end() ? "" : csv_text(found->second));
    }
    auto const& best = trial.tally.best;
    fields.push_back(best ? fmt::format("{}", best->epoch) : "");
    for (auto const& name : first_metrics()) fields.push_back(best ? number(metric_value(*best, name)) : "");
    fields.push_back(number(trial.tally.train_s));
    fields.push_back(number(trial.tally.cpu_s()));
    fields.push_back(number(trial.tally.cpu.share()));
    if (columns.gpu) fields.insert(fields.end(), {number(trial.tally.gpu_s()), number(trial.tally.gpu.share())});
    fields.push_back(trial.tally.last ? to_hex(trial.tally.state_hash) : "");
    for (auto const& name : columns.metrics) fields.push_back(best ? number(metric_value(*best, name)) : "");
    for (auto const& name : columns.measures) {
        auto const found = trial.measures.find(name);
        fields.push_back(found == trial.measures.end() ? "" : number(found->second));
    }
    if (columns.has_front) fields.emplace_back(columns.front.contains(trial.id) ? "true" : "false");
    return joined(fields);
}

}  // namespace

std::string trials_csv(Summary const& summary) {
    auto const columns = columns_of(summary);
    std::vector<std::string> header{"id", "status", "reason", "epochs"};
    header.insert(header.end(), columns.paths.begin(), columns.paths.end());
    header.emplace_back("best_epoch");
    for (auto& name : first_metrics()) header.push_back(std::move(name));
    header.insert(header.end(), {"train_s", "cpu_s", "cpu_use"});
    if (columns.gpu) header.insert(header.end(), {"gpu_s", "gpu_use"});
    header.emplace_back("state_hash");
    header.insert(header.end(), columns.metrics.begin(), columns.metrics.end());
    header.insert(header.end(), columns.measures.begin(), columns.measures.end());
    if (columns.has_front) header.emplace_back("on_front");
    std::string out = joined(header);
    for (auto const& trial : summary.trials) out += row(trial, columns);
    return out;
}

}  // namespace hopscotch
