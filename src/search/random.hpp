// SPDX-License-Identifier: Apache-2.0
// Independent draws, each from the stream of its own trial, so that no order of events changes a configuration.
#pragma once
#include <memory>

#include "experiment/space.hpp"
#include "search/search.hpp"

namespace hopscotch {

// No configuration twice: in a finite space the search ends when all have been tried.
std::unique_ptr<Search> make_random(Experiment const& experiment, Space const& space);

}  // namespace hopscotch
