// SPDX-License-Identifier: Apache-2.0
#include "search/trial_points.hpp"

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "experiment/measures.hpp"

namespace hopscotch {

Point TrialPoints::of(Assignment const& assignment, std::vector<double> const& metrics) const {
    auto const known = std::ranges::count_if(objectives_, &ObjectiveMeasure::is_metric);
    require(std::ssize(metrics) == known, "a report has other metrics than search.objectives names");
    std::optional<Measures> measures;
    if (known < std::ssize(objectives_)) measures = measure_(assignment);
    Point out;
    std::vector<double> values;
    std::size_t next = 0;
    for (std::size_t i = 0; i < objectives_.size(); ++i) {
        auto const& each = objectives_[i];
        out.losses[i] = each.is_metric ? metrics[next++] : each.loss(value_of(*measures, each.name));
        values.push_back(each.loss(out.losses[i]));  // negation undoes itself
    }
    out.violation = violation_of(search_, values);
    return out;
}

}  // namespace hopscotch
