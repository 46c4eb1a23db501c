// SPDX-License-Identifier: Apache-2.0
// The section `search`: its keys, and the demands of a search procedure on the rest of the experiment. The procedures stand
// in experiment/procedures.hpp.
#pragma once
#include <string>
#include <vector>

#include "core/json_reader.hpp"
#include "experiment/config.hpp"
#include "experiment/space.hpp"

namespace hopscotch {

enum class OwnMetrics;
// search.objectives, whose first metric is the default of search.metric.
void read_objectives(ObjectReader& reader, OwnMetrics own, SearchConfig& out);

// The other keys about the comparison of trials. procedure: empty if the given name is wrong.
void read_comparison(ObjectReader& reader, std::string const& procedure, OwnMetrics own, SearchConfig& out);

// Procedure manual: the space that the listed configurations span (every key with the values that they name), in place of
// `space`. Null after a complaint.
Json listed_space(Experiment const& experiment, Problems& problems);

// Procedure manual: the listed configurations, completed from the document. The configurations have been checked.
std::vector<Assignment> listed_configurations(Experiment const& experiment);

// Reports a budget.target that no metric can reach. Call it when the metric is known.
void check_target(Experiment const& experiment, Problems& problems);

// Reports settings of the space and of train.epochs that the procedure cannot use. Call it when both have been read.
void check_search(Experiment const& experiment, Space const& space, Problems& problems);

}  // namespace hopscotch
