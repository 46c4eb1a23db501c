// SPDX-License-Identifier: Apache-2.0
// What search.subject_to and search.pareto ask of a configuration: sizes and costs, which only the model zoo knows.
#pragma once
#include "data/dataset/manifest.hpp"
#include "search/search.hpp"

namespace hopscotch {

// Every configuration is built once. One that cannot be built measures nothing: its trial, or the check before the run, says
// why.
Measure make_measure(Experiment const& experiment, Manifest const& manifest);

}  // namespace hopscotch
