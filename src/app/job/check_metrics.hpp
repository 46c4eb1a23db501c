// SPDX-License-Identifier: Apache-2.0
// Checks that the dataset and the loss have the metrics that the section `search` names.
#pragma once
#include "core/json_reader.hpp"
#include "data/dataset/manifest.hpp"
#include "experiment/config.hpp"

namespace hopscotch {

void check_metrics(Experiment const& experiment, Manifest const& manifest, Problems& problems);

}  // namespace hopscotch
