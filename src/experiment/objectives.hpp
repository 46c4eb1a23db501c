// SPDX-License-Identifier: Apache-2.0
// What trials are compared by, if a search has several objectives (search.objectives).
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "experiment/search_config.hpp"

namespace hopscotch {

struct ObjectiveMeasure {
    std::string name;
    Mode mode = Mode::min;
    bool is_metric = false;  // a result of each lap; else it is known before the training (measure_names())

    double loss(double value) const { return mode == Mode::max ? -value : value; }  // lower is better
    bool operator==(ObjectiveMeasure const&) const = default;
};

// Which values of a measure are better: search.mode of search.metric, search.modes of others; else as the metric says, and
// small sizes, costs and seconds.
Mode mode_of(SearchConfig const& search, std::string const& name);

// As search.objectives lists them; empty: search.metric alone compares trials.
std::vector<ObjectiveMeasure> objectives_of(SearchConfig const& search);
std::size_t objective_count(SearchConfig const& search);  // at least 1

// By how much a trial misses the bounds of search.subject_to on its metrics: shares of the bounds, added up; 0: it meets
// them. values: of objectives_of(search).
double violation_of(SearchConfig const& search, std::vector<double> const& values);

}  // namespace hopscotch
