// SPDX-License-Identifier: Apache-2.0
#include "experiment/objectives.hpp"

#include <algorithm>
#include <cmath>

#include "experiment/metric.hpp"

namespace hopscotch {
namespace {

constexpr double k_least_violation = 1e-12;  // of a value that is equal to an exclusive bound

double missed_by(double value, double bound) {
    double const scale = bound == 0 ? 1 : std::abs(bound);
    return std::max(std::abs(value - bound) / scale, k_least_violation);
}

}  // namespace

Mode mode_of(SearchConfig const& search, std::string const& name) {
    if (name == search.metric) return search.mode;
    if (auto const given = search.front.modes.find(name); given != search.front.modes.end()) return given->second;
    return is_metric(name) ? natural_mode(name) : Mode::min;
}

std::vector<ObjectiveMeasure> objectives_of(SearchConfig const& search) {
    std::vector<ObjectiveMeasure> out;
    if (!search.front.compares) return out;
    for (auto const& name : search.front.names)
        out.push_back({name, mode_of(search, name), is_metric(name) || may_be_own_metric(name)});
    return out;
}

std::size_t objective_count(SearchConfig const& search) { return search.front.compares ? search.front.names.size() : 1; }

double violation_of(SearchConfig const& search, std::vector<double> const& values) {
    double out = 0;
    if (!search.front.compares) return out;
    auto const& names = search.front.names;
    for (auto const& bound : search.proposals.subject_to) {
        auto const at = static_cast<std::size_t>(std::ranges::find(names, bound.name) - names.begin());
        if (at == names.size()) continue;
        if (bound.above && !(values[at] > *bound.above)) out += missed_by(values[at], *bound.above);
        if (bound.below && !(values[at] < *bound.below)) out += missed_by(values[at], *bound.below);
    }
    return out;
}

}  // namespace hopscotch
