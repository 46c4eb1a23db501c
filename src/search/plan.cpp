// SPDX-License-Identifier: Apache-2.0
#include "search/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "core/error.hpp"
#include "experiment/auto_procedure.hpp"
#include "experiment/objectives.hpp"
#include "experiment/procedures.hpp"
#include "experiment/search_section.hpp"
#include "search/bracket.hpp"
#include "search/goal.hpp"
#include "search/grid.hpp"
#include "search/known.hpp"
#include "search/plan_count.hpp"
#include "search/procedure_table.hpp"
#include "search/rule.hpp"

namespace hopscotch {
namespace {

constexpr std::int64_t k_likely_racers = 5;  // configurations that get all copies, for an estimate

// The number of configurations that an earlier run has not tried, if they can be counted.
std::int64_t configurations(Experiment const& experiment, SearchContext const& context) {
    Problems told("");
    auto space = read_space(experiment, told);
    auto const known = known_before(experiment, space, context);
    start_with_best(space, known, experiment, context.measure);
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
    std::int64_t epochs = 0;
    while (auto const proposal = search.next()) {
        ++plan.trials;
        epochs += proposal->until_epoch;
        longest = std::max(longest, proposal->until_epoch);
    }
    plan.set_epochs(epochs);
    plan.brackets = {{{plan.trials / plan.copies, longest}}};
}

void count_bracket(std::vector<Rung> rungs, SearchPlan& plan) {
    plan.trials = rungs.front().trials;
    plan.set_epochs(epochs_of(rungs));
    plan.brackets = {std::move(rungs)};
}

// Not less than this: at the end the best 1/eta of a rung have gone on, and one trial goes all the way.
std::vector<Rung> asha_table(std::int64_t trials, Halving const& halving) {
    std::vector<Rung> out;
    for (auto epochs : asha_rungs(halving)) {
        out.push_back({trials, epochs});
        trials = std::max<std::int64_t>(trials / halving.eta, std::min<std::int64_t>(trials, 1));
    }
    return out;
}

// Not more than this: each result is better than all before it, so from the eta-th on all are promoted. Of several
// objectives each result may also bring an earlier one to the top, so all may be promoted.
std::int64_t most_of_asha(std::int64_t trials, Halving const& halving, std::size_t objectives) {
    std::vector<Rung> out;
    for (auto epochs : asha_rungs(halving)) {
        out.push_back({trials, epochs});
        if (objectives > 1 && trials >= halving.eta) continue;
        trials = std::max<std::int64_t>(trials - halving.eta + 1, std::min<std::int64_t>(trials, 1));
    }
    return epochs_of(out);
}

// Epochs of the shortest and of the longest trial that ends by itself.
struct Lengths {
    std::int64_t shortest = 1, longest = 1;
};

Lengths lengths_of(Experiment const& experiment) {
    std::vector<std::int64_t> found;
    Problems told("");
    for (auto const& parameter : read_space(experiment, told).parameters) {
        if (parameter.path != "train.epochs" && parameter.path != "train") continue;
        if (!parameter.when.empty()) found.push_back(TrainConfig{}.epochs);  // not there: the default
        for (auto const& value : parameter.values) {
            auto const* epochs = value.is_object() ? value.find("epochs") : &value;
            found.push_back(epochs != nullptr && epochs->is_integer() ? epochs->integer() : TrainConfig{}.epochs);
        }
    }
    if (found.empty()) return {most_epochs(experiment), most_epochs(experiment)};
    auto const [shortest, longest] = std::ranges::minmax(found);
    return {shortest, longest};
}

// A trial may end before its last epoch, or the search before its last trial, by time or results.
bool may_end_early(Experiment const& experiment) {
    auto const& budget = experiment.search.budget;
    return Goal::is_set(experiment.search) || budget.hours || budget.hours_per_trial;
}

bool trials_may_stop(Experiment const& experiment) {
    auto const stops = [](Json::Member const& member) {
        return member.key.starts_with("train.early_stopping") || member.key == "train";
    };
    return experiment.train.early_stopping.patience > 0 || std::ranges::any_of(experiment.space.object(), stops);
}

// budget.epochs: no trial starts or goes on after this many; those in training go on to their next decision.
void limit_epochs(Experiment const& experiment, SearchPlan& plan) {
    auto const& budget = experiment.search.budget.epochs;
    if (!budget || plan.most <= *budget) return;
    auto const [shortest, longest] = lengths_of(experiment);
    bool const decides = procedure_traits(experiment.search.procedure).has_rule || Goal::is_set(experiment.search) ||
                         experiment.search.copies.race;
    if (!decides && shortest == longest) return;  // the number of trials is the whole plan
    plan.trials_bound = SearchPlan::Bound::at_most;
    plan.epochs = std::min(plan.epochs, *budget);
    plan.least = std::min(plan.least, *budget);
    plan.most = std::min(plan.most, *budget - 1 + longest * plan.copies);
}

// Numbers of configurations: wanted, allowed by the budget or listed (none: not given), and available.
Limits limits_of(Experiment const& experiment, SearchContext const& context) {
    auto const& search = experiment.search;
    Limits out{search.trials, search.budget.epochs, configurations(experiment, context)};
    if (out.epochs) out.epochs = (*out.epochs + search.copies.first() - 1) / search.copies.first();
    if (auto const& trials = search.budget.trials) out.trials = std::min(out.trials.value_or(*trials), *trials);
    if (sampler_traits(search.sampler).is_list()) out.trials = std::min(out.trials.value_or(out.there), out.there);
    return out;
}

// Of the race at least one configuration gets all copies, and at most all do.
void add_race(Experiment const& experiment, SearchPlan& plan) {
    auto const [shortest, longest] = lengths_of(experiment);
    auto const further = plan.copies - 1;
    plan.racing = plan.trials;
    plan.epochs += std::min(plan.racing, k_likely_racers) * further * longest;
    if (plan.least > 0) plan.least += further * shortest;
    plan.most += plan.racing * further * longest;
    plan.trials *= plan.copies;
    plan.trials_bound = SearchPlan::Bound::at_most;
}

void count_adaptive(Experiment const& experiment, SearchContext const& context, SearchPlan& plan) {
    auto const& search = experiment.search;
    auto const limit = limits_of(experiment, context);
    int const longest = most_epochs(experiment);
    PlanInput const input{experiment,
                          limit,
                          longest,
                          {search.rule.eta, first_decision(experiment), longest},
                          limit.at_most(limit.epochs.value_or(limit.there)),
                          context.stages};
    procedure_named(search.procedure).count(input, plan);
}

}  // namespace

void count_trials(PlanInput const& input, SearchPlan& plan) {
    auto const [shortest, longest] = lengths_of(input.experiment);
    auto const& budget = input.limit.epochs;
    // Whole trials spend a budget, unless results may end them.
    bool const whole = budget && !Goal::is_set(input.experiment.search);
    auto const many = whole ? input.limit.at_most((*budget + shortest - 1) / shortest) : input.many;
    count_bracket({{many, static_cast<int>(longest)}}, plan);
    plan.least = many * shortest;
}

void count_trials_at_most(PlanInput const& input, SearchPlan& plan) {
    count_bracket({{input.many, input.longest}}, plan);
    plan.least = 0;
}

void count_halving(PlanInput const& input, SearchPlan& plan) {
    auto const wanted = input.limit.trials.value_or(lone_survivor_trials(input.halving));
    count_bracket(halving_bracket(input.limit.at_most(wanted), input.halving), plan);
}

void count_best_after(PlanInput const& input, SearchPlan& plan) {
    auto rungs = best_after_rungs(input.experiment, input.limit.trials);
    rungs.front().trials = std::min(rungs.front().trials, input.limit.there);
    rungs.back().trials = std::min(rungs.back().trials, input.limit.there);
    count_bracket(std::move(rungs), plan);
}

// Bracket by bracket, until there are no more configurations; one iteration if nothing else ends it.
void count_hyperband(PlanInput const& input, SearchPlan& plan) {
    auto const& [experiment, limit, longest, halving, many, stages] = input;
    plan.brackets = hyperband_table(halving);
    auto const most = limit.at_most(limit.there);
    std::int64_t epochs = 0;
    for (std::size_t i = 0; plan.trials < most; ++i) {
        // At most one trial more than the budget: it goes on to its next decision.
        if (limit.epochs ? epochs >= *limit.epochs + longest : !limit.trials && i == plan.brackets.size()) break;
        auto const& table = plan.brackets[i % plan.brackets.size()];
        auto const stage = std::ranges::upper_bound(stages, plan.trials);  // its last bracket was cut short
        auto const end = stage == stages.end() ? most : std::min(*stage, most);
        auto const trials = std::min(table.front().trials, end - plan.trials);
        plan.iterations = static_cast<std::int64_t>(i / plan.brackets.size()) + 1;
        plan.trials += trials;
        epochs += epochs_of(bracket_of(trials, static_cast<int>(table.size()) - 1, halving));
    }
    plan.set_epochs(epochs);
    // Brackets run at once, so a budget may begin more of them than it can end.
    auto const first = std::max(plan.brackets.front().front().epochs, 1);
    if (limit.epochs && epochs > *limit.epochs) plan.trials = limit.at_most((*limit.epochs + first - 1) / first);
}

void count_asha(PlanInput const& input, SearchPlan& plan) {
    if (input.experiment.search.rule.variant == AshaVariant::stop) return count_trials_at_most(input, plan);
    count_bracket(asha_table(input.many, input.halving), plan);
    plan.most = most_of_asha(input.many, input.halving, objective_count(input.experiment.search));
    if (!input.stages.empty()) plan.least = 0;  // trials of an earlier stage are not promoted any more
}

void count_population(PlanInput const& input, SearchPlan& plan) {
    count_bracket({{input.limit.at_most(input.experiment.search.rule.pbt.population), input.longest}}, plan);
}

SearchPlan plan_of(Experiment const& experiment, SearchContext const& context) {
    auto patient = experiment;  // the cost of the search if no result ends it
    patient.search.budget.target.reset();
    patient.search.budget.patience.reset();
    auto const search = make_search(patient, context);
    SearchPlan plan;
    plan.copies = experiment.search.copies.count();
    if (search->decides_nothing()) {
        count_all(*search, plan);
    } else {
        count_adaptive(experiment, context, plan);
        for (auto* each : {&plan.trials, &plan.epochs, &plan.least, &plan.most}) *each *= experiment.search.copies.first();
        if (experiment.search.copies.race) add_race(experiment, plan);
        if (!experiment.search.proposals.subject_to.empty()) plan.least = 0;
        limit_epochs(experiment, plan);
    }
    for (auto const& each : objectives_of(experiment.search))
        plan.objectives.push_back(fmt::format("{} ({})", each.name, each.mode == Mode::max ? "max" : "min"));
    plan.chosen = text_of_choice(experiment);
    bool const given = experiment.search.rule.min_epochs.has_value();
    int const first = first_decision(experiment);
    if (!given && first > 1 && first < most_epochs(experiment)) plan.late_start = first;
    bool const ends = may_end_early(experiment);
    if (ends || trials_may_stop(experiment)) plan.least = 0;
    if (ends) plan.trials_bound = SearchPlan::Bound::at_most;
    return plan;
}

std::string sums_text(SearchPlan const& plan) {
    using enum SearchPlan::Bound;
    auto const bound = plan.bound();
    auto const epochs = bound == between ? fmt::format("between {} and {}", plan.least, plan.most)
                                         : fmt::format("{}{}", bound == at_most ? "at most " : "", plan.most);
    return fmt::format("{}{} trials, {} epochs in all", plan.trials_bound == at_most ? "at most " : "", plan.trials, epochs);
}

std::string text_of(SearchPlan const& plan) {
    std::string out = plan.chosen.empty() ? "" : plan.chosen + "\n";
    bool const rungs = plan.brackets.size() > 1 || plan.brackets.front().size() > 1;
    for (std::size_t i = 0; rungs && i < plan.brackets.size(); ++i) {
        out += plan.brackets.size() > 1 ? fmt::format("bracket {}:", i) : "rungs:";
        for (auto const& [trials, epochs] : plan.brackets[i])
            out += fmt::format("{} {} to epoch {}", &trials == &plan.brackets[i].front().trials ? "" : ",", trials, epochs);
        out += "\n";
    }
    if (!plan.objectives.empty()) out += fmt::format("objectives: {}\n", fmt::join(plan.objectives, ", "));
    if (plan.late_start > 0)
        out += fmt::format(
            "no decision before epoch {} (ranks after first epochs are mostly noise); search.min_epochs "
            "changes that\n",
            plan.late_start);
    if (plan.iterations > 1) out += fmt::format("{} iterations of these brackets, ", plan.iterations);
    if (plan.racing > 0)
        out += fmt::format("{} configurations, once each, and up to {} times while they may be the best: ", plan.racing,
                           plan.copies);
    else if (plan.copies > 1)
        out += fmt::format("{} configurations, {} times each: ", plan.trials / plan.copies, plan.copies);
    return out + sums_text(plan) + "\n";
}

}  // namespace hopscotch
