// SPDX-License-Identifier: Apache-2.0
// The rows of the comparison: one number for each run, and the divisor of its ratio.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "experiment/search_config.hpp"

namespace hopscotch {

struct ComparedRun;

enum class Quantity { seconds, fraction, bytes, metric, count };

struct MeasureRow {
    std::string key, name;  // of the JSON document; of the table, without its unit
    Quantity quantity = Quantity::count;
    std::vector<std::optional<double>> values;     // by run
    std::vector<std::optional<double>> reference;  // by run: the divisor of the ratio; the run itself: none
    std::string absent = "-";                      // the table's text for a run without a value

    // value / reference, where both exist and the reference is not 0.
    std::optional<double> ratio(std::size_t run) const;
};

// The value of the metric that runs must reach: --target, or else the worst of the runs' best values: all runs reach it.
struct MetricTarget {
    std::string metric;
    Mode mode = Mode::max;
    std::optional<double> value;  // none: some run has no finite value
};
MetricTarget make_target(std::vector<ComparedRun> const& runs, std::optional<double> wanted);

// The measured values, as ratios to the first run. Rows that no run has are left out, but not those of a target.
std::vector<MeasureRow> measures_of(std::vector<ComparedRun> const& runs, MetricTarget const& target);

// Bytes of one kind ("state", "gradient") that all ranks sent.
std::optional<double> bytes_sent(ComparedRun const& run, std::string_view kind);

}  // namespace hopscotch
