// SPDX-License-Identifier: Apache-2.0
// Results of an earlier run (search.start_from). Samplers learn from them as from results of this run, and do not propose
// their configurations again. Rules never see them.
#pragma once
#include <vector>

#include "experiment/assignment.hpp"

namespace hopscotch {

struct Space;

struct PastTrial {
    enum class Progress { ended, cut_off };

    Assignment assignment;
    std::vector<double> losses;  // of each lap, lower is better; infinity is the last one of a trial that failed
    // cut_off: the run ended before the trial. Its last loss means little, and its configuration may be proposed again.
    Progress progress = Progress::ended;
    std::vector<std::vector<double>> metrics = {};  // of each lap, as Report::metrics; of one that failed empty
};

// The trials that this space could propose (is_in of experiment/space.hpp), with their values in the space's order.
std::vector<PastTrial> usable_past(Space const& space, std::vector<PastTrial> const& past);

}  // namespace hopscotch
