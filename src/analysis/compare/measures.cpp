// SPDX-License-Identifier: Apache-2.0
#include "analysis/compare/measures.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "analysis/compare/compared_run.hpp"
#include "core/json_lookup.hpp"
#include "rundir/metrics.hpp"

namespace hopscotch {
namespace {

using Number = std::optional<double>;
using OfRun = std::function<Number(ComparedRun const&)>;

std::vector<double> numbers_in(Json const& json, std::string_view key) {
    std::vector<double> out;
    auto const* array = json.find(key);
    if (array == nullptr || !array->is_array()) return out;
    for (auto const& value : array->array())
        if (value.is_number()) out.push_back(value.number());
    return out;
}

Number largest(std::vector<double> const& values) {
    if (values.empty()) return std::nullopt;
    return *std::max_element(values.begin(), values.end());
}

// Seconds that trainers waited for communication, of all their seconds.
Number exposed(ComparedRun const& run) {
    auto const waited = numbers_in(run.summary, "exposed_s");
    auto const makespan = number_in(run.summary, "makespan_s");
    if (waited.empty() || !makespan || *makespan <= 0) return std::nullopt;
    return std::accumulate(waited.begin(), waited.end(), 0.0) / (*makespan * static_cast<double>(waited.size()));
}

// The number of updates of others that a gradient had missed.
Number mean_staleness(ComparedRun const& run) {
    auto const counts = numbers_in(run.summary, "staleness");
    double pushes = 0, missed = 0;
    for (std::size_t staleness = 0; staleness < counts.size(); ++staleness) {
        pushes += counts[staleness];
        missed += static_cast<double>(staleness) * counts[staleness];
    }
    return pushes > 0 ? Number(missed / pushes) : std::nullopt;
}

// Bytes that each rank but the first sent; empty where the run did not count by rank.
std::vector<double> sent_by_trainers(ComparedRun const& run, std::string_view kind) {
    std::vector<double> out;
    auto const* ranks = run.summary.find("bytes_by_rank");
    if (ranks == nullptr || !ranks->is_array()) return out;
    for (std::size_t rank = 1; rank < ranks->array().size(); ++rank)
        out.push_back(number_in(ranks->array()[rank], kind).value_or(0));
    return out;
}

Number mean_sent(ComparedRun const& run, std::string_view kind) {
    auto const sent = sent_by_trainers(run, kind);
    if (!sent.empty()) return std::accumulate(sent.begin(), sent.end(), 0.0) / static_cast<double>(sent.size());
    auto const all = bytes_sent(run, kind);  // rank 0's share of states and gradients is none, or small
    return all ? Number(*all / run.recorded.facts.trainers()) : std::nullopt;
}

// The run's best value of a metric, over the lines of metrics.jsonl: those of its trials' best epochs are among them.
Number best_value(ComparedRun const& run, MetricTarget const& target) {
    Number best;
    for (auto const& line : run.metrics)
        if (auto const value = number_in(line, target.metric); value && (!best || better(*value, *best, target.mode)))
            best = value;
    return best;
}

// The least of `amount` over the trials' epochs that reach the target. There must be a target.
Number least_to_target(ComparedRun const& run, MetricTarget const& target,
                       std::function<Number(Json const&)> const& amount) {
    Number least;
    for (auto const& line : run.metrics) {
        auto const value = number_in(line, target.metric);
        if (!value || better(*target.value, *value, target.mode)) continue;
        if (auto const now = amount(line); now && (!least || *now < *least)) least = now;
    }
    return least;
}

class MeasureTable {
public:
    explicit MeasureTable(std::vector<ComparedRun> const& runs) : runs_(runs) {}

    // Left out if no run has a value, or if all values are zero bytes.
    void add(std::string key, std::string name, Quantity quantity, OfRun const& value) {
        auto row = measured({std::move(key), std::move(name), quantity, {}, {}}, value);
        bool const told = std::any_of(row.values.begin(), row.values.end(),
                                      [&](auto const& each) { return each && (quantity != Quantity::bytes || *each != 0); });
        if (told) rows_.push_back(std::move(row));
    }

    void add(std::string const& key, std::string name, Quantity quantity) {
        add(key, std::move(name), quantity, [&](auto const& run) { return number_in(run.summary, key); });
    }

    void add_to_target(std::string key, std::string name, Quantity quantity, OfRun const& value) {
        rows_.push_back(measured({std::move(key), std::move(name), quantity, {}, {}, "not reached"}, value));
    }

    std::vector<MeasureRow> take() { return std::move(rows_); }

private:
    MeasureRow measured(MeasureRow row, OfRun const& value) const {
        for (auto const& run : runs_) row.values.push_back(value(run));
        row.reference.assign(runs_.size(), row.values.front());
        row.reference.front() = std::nullopt;
        return row;
    }

    std::vector<ComparedRun> const& runs_;
    std::vector<MeasureRow> rows_;
};

void add_sent(MeasureTable& rows) {
    for (std::string const kind : {"state", "gradient", "data", "control"}) {
        rows.add(kind + "_bytes_mean", kind + " sent", Quantity::bytes,
                 [&](auto const& run) { return mean_sent(run, kind); });
        rows.add(kind + "_bytes_max", kind + ", most", Quantity::bytes,
                 [&](auto const& run) { return largest(sent_by_trainers(run, kind)); });
    }
}

}  // namespace

std::optional<double> MeasureRow::ratio(std::size_t run) const {
    if (!values[run] || !reference[run] || *reference[run] == 0) return std::nullopt;
    return *values[run] / *reference[run];
}

std::optional<double> bytes_sent(ComparedRun const& run, std::string_view kind) {
    auto const* bytes = run.summary.find("bytes");
    return bytes == nullptr ? std::nullopt : number_in(*bytes, kind);
}

MetricTarget make_target(std::vector<ComparedRun> const& runs, std::optional<double> wanted) {
    auto const& search = runs.front().recorded.experiment.search;
    MetricTarget target{search.metric, search.mode, wanted};
    if (wanted) return target;
    for (auto const& run : runs) {
        auto const best = best_value(run, target);
        if (!best) return {target.metric, target.mode, std::nullopt};
        if (!target.value || better(*target.value, *best, target.mode)) target.value = best;
    }
    return target;
}

std::vector<MeasureRow> measures_of(std::vector<ComparedRun> const& runs, MetricTarget const& target) {
    MeasureTable rows(runs);
    rows.add("wall_s", "wall", Quantity::seconds);
    rows.add("makespan_s", "makespan", Quantity::seconds);
    rows.add("utilisation", "trainers busy", Quantity::fraction);
    rows.add("exposed_fraction", "comm. exposed", Quantity::fraction, exposed);
    add_sent(rows);
    rows.add("sync_rounds", "synchronisations", Quantity::count);
    rows.add("staleness_mean", "mean staleness", Quantity::metric, mean_staleness);
    rows.add("storage_bytes", "data held", Quantity::bytes);
    rows.add("staged_bytes", "data staged", Quantity::bytes);
    rows.add("peak_rss_bytes", "memory, most", Quantity::bytes,
             [](auto const& run) { return largest(numbers_in(run.summary, "peak_rss_bytes")); });
    rows.add("best", "best " + target.metric, Quantity::metric, [&](auto const& run) { return best_value(run, target); });
    if (!target.value) return rows.take();
    rows.add_to_target("time_to_target_s", "time to target", Quantity::seconds, [&](auto const& run) {
        return least_to_target(run, target, [](auto const& line) { return number_in(line, "wall_s"); });
    });
    rows.add_to_target("epochs_to_target", "epochs to target", Quantity::count, [&](auto const& run) {
        return least_to_target(run, target, [](auto const& line) -> Number {
            auto const epoch = number_in(line, "epoch");
            return epoch ? Number(*epoch + 1) : std::nullopt;
        });
    });
    return rows.take();
}

}  // namespace hopscotch
