// SPDX-License-Identifier: Apache-2.0
// The configurations that the experiment lists, in its order.
#include "experiment/search_section.hpp"
#include "search/list.hpp"

namespace hopscotch {

std::unique_ptr<Sampler> make_manual(Experiment const& experiment, Space const&) {
    return std::make_unique<List>(listed_configurations(experiment));
}

}  // namespace hopscotch
