// SPDX-License-Identifier: Apache-2.0
#include "search/known.hpp"

#include <algorithm>

#include "experiment/config.hpp"
#include "experiment/measures.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "experiment/space.hpp"
#include "search/rule.hpp"
#include "search/trial_points.hpp"

namespace hopscotch {
namespace {

// A failed trial stays the worst.
void best_so_far(std::vector<double>& losses) {
    for (std::size_t i = 1; i < losses.size(); ++i)
        if (losses[i] != k_worst) losses[i] = std::min(losses[i], losses[i - 1]);
}

std::vector<Point> points_of(TrialPoints const& points, PastTrial const& past) {
    std::vector<Point> out;
    for (std::size_t i = 0; points.are_used() && i < past.losses.size(); ++i)
        out.push_back(past.losses[i] == k_worst
                          ? k_worst_point
                          : points.of(past.assignment, i < past.metrics.size() ? past.metrics[i] : std::vector<double>()));
    return out;
}

bool is_listed(std::vector<Assignment> const& list, Assignment const& assignment) {
    return std::ranges::find(list, assignment) != list.end();
}

bool is_accepted(Experiment const& experiment, Measure const& measure, Assignment const& assignment) {
    Problems refused("");
    resolve(experiment, assignment, refused);
    return refused.empty() && !missed_bound(experiment.search, measure, assignment);
}

}  // namespace

History known_before(Experiment const& experiment, Space const& space, SearchContext const& context) {
    History out;
    auto const most = static_cast<std::size_t>(most_epochs(experiment));
    TrialPoints const points(experiment.search, context.measure);
    bool const ruled = procedure_traits(experiment.search.procedure).has_rule;
    for (auto& each : usable_past(space, context.past)) {
        if (ruled && each.losses.size() > most) each.losses.resize(most);
        if (experiment.search.objective == Objective::best) best_so_far(each.losses);
        auto known = points_of(points, each);
        out.add_past(std::move(each), std::move(known));
    }
    return out;
}

std::optional<MissedBound> missed_bound(SearchConfig const& search, Measure const& measure, Assignment const& assignment) {
    auto bounds = search.proposals.subject_to;
    std::erase_if(bounds, [](Constraint const& each) { return !is_measure(each.name); });
    if (bounds.empty() || !measure) return std::nullopt;
    auto const measures = measure(assignment);
    for (auto const& bound : bounds) {
        double const value = value_of(measures, bound.name);
        if (value > bound.above.value_or(-k_worst) && value < bound.below.value_or(k_worst)) continue;
        return MissedBound{bound, value};
    }
    return std::nullopt;
}

void start_with_best(Space& space, History const& known, Experiment const& experiment, Measure const& measure) {
    std::vector<std::size_t> ended;
    std::vector<Point> points;
    for (std::size_t i = 0; i < known.results(); ++i) {
        auto const& trial = known.result(i);
        if (trial.losses.empty() || trial.failed() || trial.state != TrialHistory::State::ended) continue;
        ended.push_back(i);
        points.push_back(trial.last_point());
    }
    auto left = experiment.search.proposals.start_with_best;
    for (auto const place : left > 0 ? by_rank(points) : std::vector<std::size_t>()) {
        if (left == 0) return;
        auto const& best = known.result(ended[place]).assignment;
        if (is_listed(space.start_with, best) || !is_accepted(experiment, measure, best)) continue;
        space.start_with.push_back(best);
        --left;
    }
}

}  // namespace hopscotch
