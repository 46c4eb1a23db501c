// SPDX-License-Identifier: Apache-2.0
// Checks that the dataset and the loss have the metrics that the section `search` names.
#pragma once

namespace hopscotch {

class Problems;
struct Experiment;
struct Manifest;

// A metric that is not built in must be one of the model's file, which then gives the default of search.mode, and the modes
// of search.pareto and search.objectives. Reports another name with all known ones; nothing while the model itself is
// refused.
void check_own_metrics(Experiment& experiment, Manifest const& manifest, Problems& problems);

// Of every metric that `search` names.
void check_metrics(Experiment const& experiment, Manifest const& manifest, Problems& problems);

}  // namespace hopscotch
