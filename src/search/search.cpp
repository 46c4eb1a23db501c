// SPDX-License-Identifier: Apache-2.0
#include "search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "core/error.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "search/combined.hpp"
#include "search/procedure_table.hpp"
#include "search/repeated.hpp"

namespace hopscotch {
namespace {

using Most = std::optional<std::int64_t>;

// The smallest of the wanted number, the number within the budget, and the length of a list.
Most most_trials(SearchInput const& input, Sampler const& sampler, Most wanted) {
    auto const& search = input.experiment.search;
    auto out = wanted;
    if (auto const& budget = search.budget.trials) out = std::min(out.value_or(*budget), *budget);
    if (auto const remaining = sampler.remaining(input.known)) {
        auto const all =
            static_cast<std::int64_t>(*remaining + input.space.start_with.size());  // at most: a start may be on the list
        out = std::min(out.value_or(all), all);
    }
    return out;
}

// Of the first stage; later: of the others.
Most first_stage(SearchInput const& input, Sampler const& sampler, std::vector<std::int64_t> const& stages,
                 std::deque<std::int64_t>& later) {
    std::vector<Most> wanted(stages.begin(), stages.end());
    wanted.push_back(input.experiment.search.trials);
    for (std::size_t i = 1; i < wanted.size(); ++i)
        if (auto const most = most_trials(input, sampler, wanted[i])) later.push_back(*most);
    return most_trials(input, sampler, wanted.front());
}

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

// A rule compares trials after the same number of epochs: later results of a longer run do not count.
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

}  // namespace

std::unique_ptr<Search> make_search(Experiment const& experiment, SearchContext const& context) {
    Problems problems("experiment");
    auto const space = read_space(experiment, problems);
    problems.throw_if_any();
    auto input = std::make_unique<SearchInput const>(
        SearchInput{experiment, space, context.measure, known_before(experiment, space, context)});
    auto const& search = experiment.search;
    auto const& procedure = procedure_named(search.procedure);
    auto const& traits = procedure_traits(search.procedure);
    auto sampler = sampler_named(search.sampler).make(input->experiment, input->space);
    std::deque<std::int64_t> later;
    auto const most = first_stage(*input, *sampler, context.stages, later);
    if (!most && !search.budget.epochs && !traits.ends_by_itself)
        throw ConfigError(
            fmt::format("/search/trials: missing (required); say how many configurations {} should try", search.procedure));
    auto rule = procedure.rule(*input, most);
    auto combined =
        std::make_unique<CombinedSearch>(std::move(input), std::move(sampler), std::move(rule), most, std::move(later));
    if (search.copies.count() == 1) return combined;
    RepeatedSearch::LastEpoch last_epoch;
    if (traits.has_rule)
        last_epoch = [most = most_epochs(experiment)](Assignment const&) { return most; };
    else if (Goal::is_set(search))
        last_epoch = [experiment](Assignment const& assignment) {
            Problems told("");  // the sampler has checked the assignment
            return resolve(experiment, assignment, told).train.epochs;
        };
    return std::make_unique<RepeatedSearch>(std::move(combined), search, std::move(last_epoch));
}

}  // namespace hopscotch
