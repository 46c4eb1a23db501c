// SPDX-License-Identifier: Apache-2.0
#include "search/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "core/error.hpp"
#include "experiment/procedures.hpp"
#include "experiment/search_section.hpp"
#include "search/goal.hpp"
#include "search/grid.hpp"
#include "search/history.hpp"
#include "search/plan_count.hpp"
#include "search/procedure_table.hpp"
#include "search/rule.hpp"

namespace hopscotch {
namespace {

// As many as there are and were not tried in an earlier run, if they can be counted.
std::int64_t configurations(Experiment const& experiment, SearchContext const& context) {
    Problems told("");
    auto const space = read_space(experiment, told);
    History known;
    for (auto& each : usable_past(space, context.past)) known.add_past(std::move(each));
    auto all = has_named_configurations(experiment.search) ? std::optional(listed_configurations(experiment))
                                                           : every_configuration(space);
    if (!all) return k_most_trials;
    std::erase_if(*all, [&](Assignment const& each) { return known.has_seen(each); });
    auto const outside = std::count_if(space.start_with.begin(), space.start_with.end(), [&](Assignment const& start) {
        return std::find(all->begin(), all->end(), start) == all->end();
    });
    return static_cast<std::int64_t>(all->size()) + outside;
}

// All trials are known beforehand: ask for them.
void count_all(Search& search, SearchPlan& plan) {
    int longest = 0;
    while (auto const proposal = search.next()) {
        ++plan.trials;
        plan.epochs += proposal->until_epoch;
        longest = std::max(longest, proposal->until_epoch);
    }
    plan.brackets = {{{plan.trials / plan.copies, longest}}};
}

void count_bracket(std::vector<Rung> rungs, SearchPlan& plan) {
    plan.trials = rungs.front().trials;
    plan.epochs = epochs_of(rungs);
    plan.brackets = {std::move(rungs)};
}

// Some promotions turn out to have been early, and the last ones of a rung never come.
std::vector<Rung> asha_table(std::int64_t trials, Halving const& halving) {
    std::vector<Rung> out;
    for (auto epochs : asha_rungs(halving)) {
        out.push_back({trials, epochs});
        trials /= halving.eta;
    }
    return out;
}

std::int64_t longest_trial(Experiment const& experiment) {
    auto const* searched = experiment.space.find("train.epochs");
    if (searched == nullptr) return most_epochs(experiment);
    std::int64_t out = 1;
    Problems told("");
    for (auto const& parameter : read_space(experiment, told).parameters)
        if (parameter.path == "train.epochs")
            for (auto const& value : parameter.values) out = std::max(out, value.integer());
    return out;
}

// Numbers of configurations: wanted, allowed by the budget or listed (none: not given), and available.
Limits limits_of(Experiment const& experiment, SearchContext const& context) {
    auto const& search = experiment.search;
    Limits out{search.trials, search.budget.epochs, configurations(experiment, context)};
    if (out.epochs) out.epochs = (*out.epochs + search.copies() - 1) / search.copies();
    if (auto const& trials = search.budget.trials) out.trials = std::min(out.trials.value_or(*trials), *trials);
    if (sampler_traits(search.sampler).is_list()) out.trials = std::min(out.trials.value_or(out.there), out.there);
    return out;
}

void count_adaptive(Experiment const& experiment, SearchContext const& context, SearchPlan& plan) {
    auto const& search = experiment.search;
    auto const limit = limits_of(experiment, context);
    int const longest = most_epochs(experiment);
    PlanInput const input{experiment,
                          limit,
                          longest,
                          {search.eta, search.min_epochs, longest},
                          limit.at_most(limit.epochs.value_or(limit.there))};
    procedure_named(search.procedure).count(input, plan);
}

}  // namespace

void count_trials(PlanInput const& input, SearchPlan& plan) {
    if (input.experiment.space.find("train.epochs") != nullptr) plan.bound = SearchPlan::Bound::at_most;
    count_bracket({{input.many, static_cast<int>(longest_trial(input.experiment))}}, plan);
}

void count_trials_at_most(PlanInput const& input, SearchPlan& plan) {
    plan.bound = SearchPlan::Bound::at_most;
    count_trials(input, plan);
}

void count_halving(PlanInput const& input, SearchPlan& plan) {
    auto const wanted = input.limit.trials.value_or(lone_survivor_trials(input.halving));
    count_bracket(halving_bracket(input.limit.at_most(wanted), input.halving), plan);
}

// Bracket by bracket, until there are no more configurations; one iteration if nothing else ends it.
void count_hyperband(PlanInput const& input, SearchPlan& plan) {
    auto const& [experiment, limit, longest, halving, many] = input;
    plan.brackets = hyperband_table(halving);
    auto const most = limit.at_most(limit.there);
    for (std::size_t i = 0; plan.trials < most; ++i) {
        if (limit.epochs ? plan.epochs >= *limit.epochs : !limit.trials && i == plan.brackets.size()) break;
        auto const& table = plan.brackets[i % plan.brackets.size()];
        auto const trials = std::min(table.front().trials, most - plan.trials);
        plan.iterations = static_cast<std::int64_t>(i / plan.brackets.size()) + 1;
        plan.trials += trials;
        plan.epochs += epochs_of(bracket_of(trials, static_cast<int>(table.size()) - 1, halving));
    }
}

void count_asha(PlanInput const& input, SearchPlan& plan) {
    if (input.experiment.search.variant == AshaVariant::stop) return count_trials_at_most(input, plan);
    plan.bound = SearchPlan::Bound::about;
    count_bracket(asha_table(input.many, input.halving), plan);
}

void count_population(PlanInput const& input, SearchPlan& plan) {
    count_bracket({{input.limit.at_most(input.experiment.search.pbt.population), input.longest}}, plan);
}

SearchPlan plan_of(Experiment const& experiment, SearchContext const& context) {
    auto patient = experiment;  // what the search will cost if no result ends it
    patient.search.budget.target.reset();
    patient.search.budget.patience.reset();
    auto const search = make_search(patient, context);
    SearchPlan plan;
    plan.copies = experiment.search.copies();
    if (search->decides_nothing()) {
        count_all(*search, plan);
    } else {
        count_adaptive(experiment, context, plan);
        plan.trials *= plan.copies;
        plan.epochs *= plan.copies;
        if (!experiment.search.subject_to.empty() && plan.bound == SearchPlan::Bound::exact)
            plan.bound = SearchPlan::Bound::at_most;
    }
    if (Goal::is_set(experiment.search)) plan.bound = SearchPlan::Bound::at_most;
    auto const& budget = experiment.search.budget.epochs;
    if (!budget || plan.epochs <= *budget) return plan;
    plan.epochs = *budget;
    plan.bound = SearchPlan::Bound::about;  // trials in training go on to their next decision
    return plan;
}

std::string text_of(SearchPlan const& plan) {
    std::string out;
    bool const rungs = plan.brackets.size() > 1 || plan.brackets.front().size() > 1;
    for (std::size_t i = 0; rungs && i < plan.brackets.size(); ++i) {
        out += plan.brackets.size() > 1 ? fmt::format("bracket {}:", i) : "rungs:";
        for (auto const& [trials, epochs] : plan.brackets[i])
            out += fmt::format("{} {} to epoch {}", &trials == &plan.brackets[i].front().trials ? "" : ",", trials, epochs);
        out += "\n";
    }
    constexpr std::array<char const*, 3> words{"", "about ", "at most "};
    if (plan.iterations > 1) out += fmt::format("{} iterations of these brackets, ", plan.iterations);
    if (plan.copies > 1) out += fmt::format("{} configurations, {} times each: ", plan.trials / plan.copies, plan.copies);
    return out + fmt::format("{} trials, {}{} epochs in all\n", plan.trials, words[static_cast<std::size_t>(plan.bound)],
                             plan.epochs);
}

}  // namespace hopscotch
