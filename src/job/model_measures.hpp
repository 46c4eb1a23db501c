// SPDX-License-Identifier: Apache-2.0
// Sizes and costs of a configuration, for search.subject_to and search.pareto. Only the model zoo knows them.
#pragma once
#include "search/context.hpp"

namespace hopscotch {

struct Experiment;
struct Manifest;

// Builds every configuration once. A configuration that cannot be built has no measures; its trial, or the check before the
// run, gives the reason.
Measure make_measure(Experiment const& experiment, Manifest const& manifest);

}  // namespace hopscotch
