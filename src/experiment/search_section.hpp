// SPDX-License-Identifier: Apache-2.0
// What the reader needs to know about search procedures: which keys belong to which, and what in the rest of the experiment
// each cannot live with.
#pragma once
#include <string>
#include <vector>

#include "core/json_reader.hpp"
#include "experiment/config.hpp"
#include "experiment/space.hpp"

namespace hopscotch {

// The keys of the section that say what is compared; procedure: empty if the one given is none.
void read_objectives(ObjectReader& reader, std::string const& procedure, SearchConfig& out);

// Of manual: the space that its configurations span (every key with the values they name, where they stand in the file), to
// be used in place of `space`. Null after a complaint.
Json listed_space(Experiment const& experiment, Problems& problems);

// Of manual: the configurations with what they leave out filled in from the document. The configurations have been checked.
std::vector<Assignment> listed_configurations(Experiment const& experiment);

// Can budget.target be reached at all? Asked once the metric is known.
void check_target(Experiment const& experiment, Problems& problems);

// Is the procedure at ease with the space and with train.epochs? Called when both have been read without complaint.
void check_search(Experiment const& experiment, Space const& space, Problems& problems);

}  // namespace hopscotch
