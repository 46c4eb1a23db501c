// SPDX-License-Identifier: Apache-2.0
// search.start_from: the trials of an earlier run, which the search of this run learns from.
#pragma once
#include <string>
#include <vector>

#include "search/context.hpp"

namespace hopscotch {

class Problems;
struct Experiment;

struct StartFrom {
    SearchContext context;
    std::string counted;             // the number of trials that count, for people
    std::vector<std::string> notes;  // warnings
};

// From the directory that the experiment names; empty if it names none. Problems stand at its place in the file.
StartFrom read_start_from(Experiment const& experiment, std::string const& dataset_hash, Problems& problems);

// For a run that resumes: from its own directory. Throws ConfigError.
StartFrom resume_start_from(Experiment const& experiment);

}  // namespace hopscotch
