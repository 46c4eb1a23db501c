// SPDX-License-Identifier: Apache-2.0
// search.start_from: what the search of this run is told of an earlier one.
#pragma once
#include <string>
#include <vector>

#include "core/json_reader.hpp"
#include "experiment/config.hpp"
#include "search/search.hpp"

namespace hopscotch {

struct StartFrom {
    SearchContext context;
    std::vector<std::string> notes;  // for the user: how many trials count
};

// From the directory that the experiment names; nothing if it names none. What is wrong with it is said where it is named.
StartFrom read_start_from(Experiment const& experiment, std::string const& dataset_hash, Problems& problems);

// The same of a run that has begun: from its own directory. Throws ConfigError.
StartFrom resume_start_from(Experiment const& experiment);

}  // namespace hopscotch
