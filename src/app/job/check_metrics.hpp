// SPDX-License-Identifier: Apache-2.0
// Checks that the dataset and the loss have the metrics that the section `search` names.
#pragma once

namespace hopscotch {

class Problems;
struct Experiment;
struct Manifest;

void check_metrics(Experiment const& experiment, Manifest const& manifest, Problems& problems);

}  // namespace hopscotch
