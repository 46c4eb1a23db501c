// SPDX-License-Identifier: Apache-2.0
#include "search/past.hpp"

#include "experiment/space.hpp"

namespace hopscotch {

std::vector<PastTrial> usable_past(Space const& space, std::vector<PastTrial> const& past) {
    std::vector<PastTrial> out;
    for (auto const& each : past) {
        auto const assignment = with_own_values(space, each.assignment);
        if (!each.losses.empty() && is_in(space, assignment))
            out.push_back({in_order(space, assignment), each.losses, each.progress, each.metrics});
    }
    return out;
}

}  // namespace hopscotch
