// SPDX-License-Identifier: Apache-2.0
#include "search/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "core/error.hpp"
#include "experiment/procedures.hpp"
#include "experiment/reader.hpp"
#include "search/combined.hpp"
#include "search/known.hpp"
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

}  // namespace

std::unique_ptr<Search> make_search(Experiment const& experiment, SearchContext const& context) {
    Problems problems("experiment");
    auto space = read_space(experiment, problems);
    problems.throw_if_any();
    auto known = known_before(experiment, space, context);
    start_with_best(space, known, experiment, context.measure);
    auto input =
        std::make_unique<SearchInput const>(SearchInput{experiment, std::move(space), context.measure, std::move(known)});
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
