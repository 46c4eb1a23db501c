// SPDX-License-Identifier: Apache-2.0
// Bytes that a run moved, beside those that other strategies would have moved; and its memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "analysis/cost/run_estimate.hpp"
#include "core/counted.hpp"
#include "core/json_lookup.hpp"
#include "experiment/reader.hpp"
#include "experiment/strategy_traits.hpp"
#include "report/html_table.hpp"
#include "report/page_text.hpp"
#include "report/sections.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_resolved = 2000;  // trials whose batch size is looked up; the others have the document's

// The epochs that were trained, as work for the cost model.
Workload workload_of_report(RunResults const& data) {
    Workload out;
    std::int64_t largest = 1;
    for (auto const& trial : data.trials) largest = std::max(largest, trial.sizes.state_bytes);
    auto const weights = number_in(data.summary, "weight_bytes");
    double const share = weights ? std::min(1.0, *weights / static_cast<double>(largest)) : 1;
    out.dataset_bytes =
        static_cast<std::int64_t>(std::clamp(number_in(data.summary, "storage_bytes").value_or(0), 0.0, 1e18));
    for (std::size_t i = 0; i < data.trials.size(); ++i) {
        auto const& trial = data.trials[i];
        if (trial.curve.empty() || trial.sizes.rows == 0) continue;
        Problems ignored("");
        auto const& own =
            i < k_most_resolved ? resolve(data.run.experiment, trial.assignment, ignored).train : data.run.experiment.train;
        ModelWork model;
        model.epochs = std::ssize(trial.curve);
        model.batch = std::max(1, own.batch_size);
        model.rows = trial.sizes.rows;
        model.weight_bytes = static_cast<std::int64_t>(share * static_cast<double>(trial.sizes.state_bytes));
        model.optimizer_bytes = trial.sizes.state_bytes - model.weight_bytes;
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
    HtmlTable table({{"kind"}, {"sent", HtmlTable::Kind::numbers}, {""}});
    for (auto const& kind : kinds) {
        double const value = number_in(bytes, kind.key).value_or(0);
        table.begin_row();
        table.words(kind.name);
        table.number(value, amount_text(value));
        table.bar(sum > 0 ? value / sum : 0, "f1");
    }
    return std::move(table).take();
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
    using enum HtmlTable::Kind;
    HtmlTable table({{"strategy"}, {"sent", numbers}, {"ratio", numbers}, {""}});
    for (std::size_t i = 0; i < rows.size(); ++i) {
        double const ratio = own > 0 ? rows[i].bytes / own : NAN;
        table.begin_row();
        table.words(rows[i].name);
        table.number(rows[i].bytes, amount_text(rows[i].bytes));
        table.number(ratio, own > 0 ? fmt::format("{:.3g}", ratio) : "-");
        table.bar(most > 0 ? rows[i].bytes / most : 0, i == 0 ? "f2" : "f1");
    }
    return "<h3>Beside other strategies</h3>" + std::move(table).take() +
           "<p class=\"cap\">Predicted by closed forms for the same epochs and trainers, with default settings of each "
           "strategy; control messages are left out.</p>";
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
    Facts rows;
    std::int64_t largest = 0, together = 0;
    for (auto const& trial : data.trials) {
        largest = std::max(largest, trial.sizes.state_bytes);
        together += std::min<std::int64_t>(trial.sizes.state_bytes, INT64_MAX / 2 - together);
    }
    if (auto const* peaks = data.summary.find("peak_rss_bytes"); peaks != nullptr && peaks->is_array()) {
        std::vector<double> values;
        for (auto const& peak : peaks->array()) values.push_back(peak.is_number() ? peak.number() : 0);
        if (!values.empty()) rows.emplace_back("rank 0, most memory", amount_text(values.front()));
        if (values.size() > 1)
            rows.emplace_back("trainer with most memory", amount_text(*std::max_element(values.begin() + 1, values.end())));
    }
    if (largest > 0) rows.emplace_back("largest state of a trial", amount_text(static_cast<double>(largest)));
    if (together > 0) rows.emplace_back("all states together", amount_text(static_cast<double>(together)));
    struct Fact {
        char const *key, *name;
    };
    for (auto const& fact : {Fact{"storage_bytes", "training rows that all trainers hold"},
                             Fact{"staged_bytes", "of these, copies"}, Fact{"spilled_bytes", "waiting states on the disk"}})
        if (auto const value = number_in(data.summary, fact.key); value && *value > 0)
            rows.emplace_back(fact.name, amount_text(*value));
    if (rows.empty()) return "";
    return facts_table(rows) + note("Ranks that are threads of one process each report the memory of the process.");
}

}  // namespace hopscotch
