// SPDX-License-Identifier: Apache-2.0
// The inputs of a search besides its experiment.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "experiment/assignment.hpp"
#include "search/past.hpp"

namespace hopscotch {

struct Measures;

// Of a configuration. Only the caller knows the models.
using Measure = std::function<Measures(Assignment const&)>;

struct SearchContext {
    std::vector<PastTrial> past = {};  // search.start_from; trials that the space could not propose are ignored
    Measure measure = {};              // of a configuration; needed for search.subject_to and objectives
    // The earlier values of search.trials, if the run got more: one stage each, and a last one (Search::grow).
    std::vector<std::int64_t> stages = {};
};

}  // namespace hopscotch
