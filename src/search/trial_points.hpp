// SPDX-License-Identifier: Apache-2.0
// Turns results of trials into the points that a search with several objectives compares.
#pragma once
#include <vector>

#include "experiment/objectives.hpp"
#include "search/context.hpp"
#include "search/front.hpp"

namespace hopscotch {

class TrialPoints {
public:
    // measure: needed if sizes or costs are among search.objectives.
    TrialPoints(SearchConfig search, Measure measure)
        : search_(std::move(search)), objectives_(objectives_of(search_)), measure_(std::move(measure)) {}

    bool are_used() const { return !objectives_.empty(); }  // false: search.metric alone compares trials

    // metrics: as in Report.
    Point of(Assignment const& assignment, std::vector<double> const& metrics) const;

private:
    SearchConfig search_;
    std::vector<ObjectiveMeasure> objectives_;
    Measure measure_;
};

}  // namespace hopscotch
