// SPDX-License-Identifier: Apache-2.0
// Learning curves from a CSV file, as trials of a run that has not been.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "analysis/what_if/known_trials.hpp"
#include "core/error.hpp"
#include "data/import/csv/csv_reader.hpp"
#include "experiment/metric.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"

namespace hopscotch {
namespace {

constexpr std::string_view k_row_key = "train.optimizer.lr";  // holds the number of a configuration, from 1

struct Columns {
    std::size_t epoch = 0, metric = 0;
    std::optional<std::size_t> seconds;
    std::vector<std::size_t> configuration;
};

bool is_metric_name(std::string_view name) { return name.starts_with("val_") || name == k_train_loss; }

class Table {
public:
    Table(std::filesystem::path const& file, CurveColumns const& wanted) : reader_(file), file_(file.string()) {
        std::vector<std::string_view> cells;
        if (!reader_.next(cells)) throw DataError(fmt::format("{}: is empty (a header with `epoch` is needed)", file_));
        names_.assign(cells.begin(), cells.end());
        find_columns(wanted.metric);
        while (reader_.next(cells)) add(cells);
        if (trials_.empty()) throw DataError(fmt::format("{}: has no row below its header (nothing can be played)", file_));
    }
    std::string const& metric() const { return names_[columns_.metric]; }
    std::vector<KnownTrial> take() { return std::move(trials_); }

private:
    std::optional<std::size_t> column(std::string_view name) const {
        auto const found = std::ranges::find(names_, name);
        return found == names_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - names_.begin()));
    }

    std::size_t needed(std::string_view name, std::string_view why) const {
        if (auto const found = column(name)) return *found;
        throw ConfigError(
            fmt::format("{}: has no column \"{}\" ({}; there are: {})", file_, name, why, fmt::join(names_, ", ")));
    }

    void find_columns(std::string const& metric) {
        columns_.epoch = needed("epoch", "a row is one epoch of one configuration");
        std::vector<std::string> metrics;
        std::ranges::copy_if(names_, std::back_inserter(metrics), is_metric_name);
        if (metric.empty() && metrics.size() != 1)
            throw ConfigError(fmt::format("{}: has {} columns of metrics; say which with --metric (there are: {})", file_,
                                          metrics.size(), fmt::join(names_, ", ")));
        columns_.metric = needed(metric.empty() ? metrics.front() : metric, "--metric names it");
        columns_.seconds = column("seconds");
        auto const trial = column("trial");
        if (trial) columns_.configuration = {*trial};
        for (std::size_t i = 0; !trial && i < names_.size(); ++i)
            if (i != columns_.epoch && i != columns_.metric && i != columns_.seconds && !is_metric_name(names_[i]))
                columns_.configuration.push_back(i);
        if (columns_.configuration.empty())
            throw ConfigError(fmt::format("{}: has no column that tells configurations apart (there are: {})", file_,
                                          fmt::join(names_, ", ")));
    }

    double number(std::vector<std::string_view> const& cells, std::size_t column) const {
        auto const text = cells[column];
        double out = 0;
        auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), out);
        if (code == std::errc{} && end == text.data() + text.size()) return out;
        throw DataError(
            fmt::format("{}: \"{}\" in column \"{}\" is not a number; write one, or nothing where the metric has no "
                        "value",
                        reader_.place(), text, names_[column]));
    }

    void add(std::vector<std::string_view> const& cells) {
        if (cells.size() != names_.size())
            throw DataError(
                fmt::format("{}: has {} cells (the header has {})", reader_.place(), cells.size(), names_.size()));
        std::string text;
        for (auto const i : columns_.configuration)
            text += fmt::format("{}{}={}", text.empty() ? "" : " ", names_[i], cells[i]);
        auto const [at, is_new] = index_.try_emplace(text, trials_.size());
        if (is_new) {
            auto& trial = trials_.emplace_back();
            trial.text = text;
            trial.assignment = {{std::string(k_row_key), Json(static_cast<double>(trials_.size()))}};
        }
        auto& laps = trials_[at->second].laps;
        auto const epoch = number(cells, columns_.epoch);
        if (!first_) first_ = epoch == 0 ? 0 : 1;
        auto const next = *first_ + static_cast<int>(laps.size());
        if (epoch != next)
            throw DataError(
                fmt::format("{}: epoch {} of {} stands where epoch {} should (the rows of a configuration are in "
                            "the order of its epochs)",
                            reader_.place(), cells[columns_.epoch], text, next));
        laps.push_back(record(cells, at->second));
    }

    // The value stands in the place of the loss of one row, whatever it means.
    LapRecord record(std::vector<std::string_view> const& cells, std::size_t trial) const {
        LapRecord out;
        out.trial = TrialId(trial);
        out.epoch = static_cast<int>(trials_[trial].laps.size());
        out.valid.rows = 1;
        out.valid.loss = cells[columns_.metric].empty() ? NAN : number(cells, columns_.metric);
        if (columns_.seconds) out.stored.totals.seconds = number(cells, *columns_.seconds);
        out.stored.at.job = 1;  // the sums count
        return out;
    }

    CsvReader reader_;
    std::string file_;
    std::vector<std::string> names_;
    Columns columns_;
    std::optional<int> first_;                  // epoch of every configuration: 0 or 1, as the first row says
    std::map<std::string, std::size_t> index_;  // by configuration
    std::vector<KnownTrial> trials_;
};

Mode mode_of(std::string const& metric, CurveColumns const& wanted, std::string const& file) {
    if (wanted.mode == "min" || wanted.mode == "max") return wanted.mode == "min" ? Mode::min : Mode::max;
    if (is_metric(metric)) return natural_mode(metric);
    throw ConfigError(fmt::format(
        "{}: \"{}\" is not one of our metrics (small or large values may be better); add --mode min or max", file, metric));
}

// Only its section `search` means something.
Experiment experiment_for(std::vector<KnownTrial> const& trials, Mode mode) {
    std::size_t longest = 0;
    for (auto const& trial : trials) longest = std::max(longest, trial.laps.size());
    auto document = Json::object({});
    document.set("data.path", ".");
    document.set("model.name", "logistic");
    document.set("run.dir", ".");
    document.set("train.epochs", static_cast<std::int64_t>(longest));
    document.set("search.procedure", list_sampler());
    document.set("search.configurations", Json::Array{to_json(trials.front().assignment)});
    document.set("search.metric", std::string(k_val_loss));
    document.set("search.mode", mode == Mode::min ? "min" : "max");
    Problems problems("what-if");
    auto out = read_experiment(document.dump(), {}, problems);
    problems.throw_if_any();
    return out;
}

}  // namespace

KnownTrials read_curves(std::filesystem::path const& file, CurveColumns const& columns) {
    Table table(file, columns);
    KnownTrials out;
    out.source = file.string();
    out.is_table = true;
    out.metric = table.metric();
    out.trials = table.take();
    out.experiment = experiment_for(out.trials, mode_of(out.metric, columns, out.source));
    for (auto& trial : out.trials) {
        double const seconds = totals_of(trial.laps.front()).seconds;
        if (seconds > 0) trial.unit_cost = seconds;
    }
    return out;
}

}  // namespace hopscotch
