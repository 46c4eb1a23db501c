// SPDX-License-Identifier: Apache-2.0
// Bytes that a run moved, beside those that other strategies would have moved; and its memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/cost/run_estimate.hpp"
#include "core/counted.hpp"
#include "core/json_lookup.hpp"
#include "core/quantity_text.hpp"
#include "experiment/reader.hpp"
#include "experiment/strategy_traits.hpp"
#include "report/sections.hpp"

namespace hopscotch {
namespace {

std::string amount_text(double bytes) {
    return bytes >= 0 && bytes < 9e18 ? bytes_text(static_cast<std::uint64_t>(bytes)) : std::string("-");
}

constexpr std::size_t k_most_resolved = 2000;  // trials whose batch size is looked up; the others have the document's

// The epochs that were trained, as work for the cost model.
Workload workload_of_report(RunResults const& data) {
    Workload out;
    std::int64_t largest = 1;
    for (auto const& trial : data.trials) largest = std::max(largest, trial.state_bytes);
    auto const weights = number_in(data.summary, "weight_bytes");
    double const share = weights ? std::min(1.0, *weights / static_cast<double>(largest)) : 1;
    out.dataset_bytes =
        static_cast<std::int64_t>(std::clamp(number_in(data.summary, "storage_bytes").value_or(0), 0.0, 1e18));
    for (std::size_t i = 0; i < data.trials.size(); ++i) {
        auto const& trial = data.trials[i];
        if (trial.curve.empty() || trial.rows == 0) continue;
        Problems ignored("");
        auto const& own =
            i < k_most_resolved ? resolve(data.run.experiment, trial.assignment, ignored).train : data.run.experiment.train;
        ModelWork model;
        model.epochs = std::ssize(trial.curve);
        model.batch = std::max(1, own.batch_size);
        model.rows = trial.rows;
        model.weight_bytes = static_cast<std::int64_t>(share * static_cast<double>(trial.state_bytes));
        model.optimizer_bytes = trial.state_bytes - model.weight_bytes;
        out.models.push_back(model);
    }
    return out;
}

struct StrategyBytes {
    std::string name;
    double bytes = 0;
};

// Closed forms of the cost model with default settings. Forms that need a number that the run does not have are left out.
std::vector<StrategyBytes> other_strategies(RunResults const& data) {
    std::vector<StrategyBytes> out;
    auto const work = workload_of_report(data);
    if (work.models.empty()) return out;
    double const per_lap =
        data.totals.laps > 0 ? static_cast<double>(data.totals.hops) / static_cast<double>(data.totals.laps) : 0;
    for (auto const& traits : strategy_traits()) {
        if (traits.name == data.run.facts.strategy) continue;
        StrategyConfig config;
        config.name = traits.name;
        bool const hops = traits.training == Training::hopping;
        auto const estimate = estimate_run({.strategy = config,
                                            .work = work,
                                            .cluster = {data.run.facts.trainers(), {1e9, 1e-4}},
                                            .hops_per_lap = hops && per_lap == 0 ? data.run.facts.trainers() : per_lap,
                                            .knows_weights = number_in(data.summary, "weight_bytes").has_value(),
                                            .knows_dataset = work.dataset_bytes > 0});
        if (estimate) out.push_back({std::string(traits.name), static_cast<double>(estimate->network_bytes)});
    }
    std::ranges::stable_sort(out, {}, &StrategyBytes::bytes);
    return out;
}

std::string bar(double share, std::string_view css) {
    Svg svg(240, 14, "", "bar");
    svg.rect({0, 2, 240 * std::clamp(share, 0.0, 1.0), 12}, css);
    return std::move(svg).take();
}

std::string kinds_table(Json const& bytes) {
    struct Kind {
        char const *key, *name;
    };
    constexpr Kind kinds[] = {{"state", "states of trials (hops)"},
                              {"gradient", "gradients, or weights that are averaged"},
                              {"data", "rows, and the best model"},
                              {"control", "control messages"}};
    double sum = 0;
    for (auto const& kind : kinds) sum += number_in(bytes, kind.key).value_or(0);
    std::string out =
        "<div class=\"scroll\"><table><thead><tr><th scope=\"col\">kind</th><th scope=\"col\" class=\"n\">sent</th>"
        "<th scope=\"col\"></th></tr></thead><tbody>";
    for (auto const& kind : kinds) {
        double const value = number_in(bytes, kind.key).value_or(0);
        out += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>", kind.name, amount_text(value),
                           bar(sum > 0 ? value / sum : 0, "f1"));
    }
    return out + "</tbody></table></div>";
}

// Without control messages, which all strategies have.
double sent_by_run(RunResults const& data) {
    auto const* bytes = data.summary.find("bytes");
    if (bytes == nullptr) return static_cast<double>(data.totals.hop_bytes);
    return number_in(*bytes, "state").value_or(0) + number_in(*bytes, "gradient").value_or(0) +
           number_in(data.summary, "staged_bytes").value_or(0);
}

std::string strategies_table(RunResults const& data) {
    auto rows = other_strategies(data);
    if (rows.empty()) return "";
    double const own = sent_by_run(data);
    double most = own;
    for (auto const& row : rows) most = std::max(most, row.bytes);
    rows.insert(rows.begin(), {data.label + " (this run, measured)", own});
    std::string out =
        "<h3>Beside other strategies</h3><div class=\"scroll\"><table><thead><tr><th scope=\"col\">strategy</th>"
        "<th scope=\"col\" class=\"n\">sent</th><th scope=\"col\" class=\"n\">ratio</th><th "
        "scope=\"col\"></th></tr></thead><tbody>";
    for (std::size_t i = 0; i < rows.size(); ++i)
        out += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>",
                           escaped(rows[i].name), amount_text(rows[i].bytes),
                           own > 0 ? fmt::format("{:.3g}", rows[i].bytes / own) : "-",
                           bar(most > 0 ? rows[i].bytes / most : 0, i == 0 ? "f2" : "f1"));
    return out +
           "</tbody></table></div><p class=\"cap\">Predicted by closed forms for the same epochs and trainers, with default "
           "settings of each strategy; control messages are left out.</p>";
}

std::string fact_row(std::string_view name, std::string_view value) {
    return fmt::format("<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td></tr>", escaped(name), escaped(value));
}

}  // namespace

std::string bytes_section(RunResults const& data) {
    auto const* bytes = data.summary.find("bytes");
    auto out =
        bytes != nullptr
            ? kinds_table(*bytes)
            : note(fmt::format("So far {} moved {}. Other bytes are counted at the end of a run.",
                               counted(data.totals.hops, "hop"), amount_text(static_cast<double>(data.totals.hop_bytes))));
    return data.totals.laps == 0 ? "" : out + strategies_table(data);
}

std::string memory_section(RunResults const& data) {
    std::string rows;
    std::int64_t largest = 0, together = 0;
    for (auto const& trial : data.trials) {
        largest = std::max(largest, trial.state_bytes);
        together += std::min<std::int64_t>(trial.state_bytes, INT64_MAX / 2 - together);
    }
    if (auto const* peaks = data.summary.find("peak_rss_bytes"); peaks != nullptr && peaks->is_array()) {
        std::vector<double> values;
        for (auto const& peak : peaks->array()) values.push_back(peak.is_number() ? peak.number() : 0);
        if (!values.empty()) rows += fact_row("rank 0, most memory", amount_text(values.front()));
        if (values.size() > 1)
            rows += fact_row("trainer with most memory", amount_text(*std::max_element(values.begin() + 1, values.end())));
    }
    if (largest > 0) rows += fact_row("largest state of a trial", amount_text(static_cast<double>(largest)));
    if (together > 0) rows += fact_row("all states together", amount_text(static_cast<double>(together)));
    struct Fact {
        char const *key, *name;
    };
    for (auto const& fact : {Fact{"storage_bytes", "training rows that all trainers hold"},
                             Fact{"staged_bytes", "of these, copies"}, Fact{"spilled_bytes", "waiting states on the disk"}})
        if (auto const value = number_in(data.summary, fact.key); value && *value > 0)
            rows += fact_row(fact.name, amount_text(*value));
    if (rows.empty()) return "";
    return "<div class=\"scroll\"><table class=\"facts\"><tbody>" + rows + "</tbody></table></div>" +
           note("Ranks that are threads of one process each report the memory of the process.");
}

}  // namespace hopscotch
