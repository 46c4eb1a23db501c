// SPDX-License-Identifier: Apache-2.0
// A run as `hopscotch compare` reads it: the contents of its files. Keys that an older version did not write are absent.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

struct ComparedRun {
    std::string dir;            // as it was given
    std::string label;          // "parameter_server async s=1"
    Json facts;                 // experiment.json
    Json summary;               // null: the run has not ended
    std::vector<Json> metrics;  // the lines of metrics.jsonl

    std::string strategy() const { return facts.at("strategy").string(); }
    Json const& experiment() const { return facts.at("experiment"); }
    int trainers() const { return static_cast<int>(facts.at("trainers").integer()); }
    bool finished() const;
    std::string status() const;  // "not ended" without a summary
    std::string metric() const;  // search.metric, and whether more of it is better
    Mode mode() const;
};

// Throws ConfigError if dir is no run directory, DataError for a damaged file.
ComparedRun read_compared_run(std::string const& dir);

// A value at a dotted path of nested objects: null if there is none. The path of a searched value is one key that contains
// dots.
Json const* find_path(Json const& json, std::string_view dotted_path);

// The number under this key; none if the key is absent or null.
std::optional<double> number_in(Json const& json, std::string_view key);

// The strategy and its settings: the main setting always, others if they differ from their defaults.
std::string strategy_label(Json const& experiment, std::string const& strategy);

}  // namespace hopscotch
