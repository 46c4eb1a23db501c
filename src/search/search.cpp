// SPDX-License-Identifier: Apache-2.0
#include "search/search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/error.hpp"
#include "experiment/reader.hpp"
#include "search/combined.hpp"
#include "search/repeated.hpp"

namespace hopscotch {
namespace {

using Most = std::optional<std::int64_t>;
using MakeRule = std::unique_ptr<Rule> (*)(SearchInput const&, Most);

std::unique_ptr<Rule> no_rule(SearchInput const& in, Most) { return make_no_rule(in.experiment); }

enum class Ends { never, by_itself };  // without a number of trials or a budget

struct Procedure {
    char const* name;
    MakeRule rule;
    Ends ends = Ends::never;
};

// The sampler is the experiment's: of those without a rule it has their own name.
constexpr std::array<Procedure, 12> k_procedures{
    {{"grid", no_rule},
     {"random", no_rule},
     {"sobol", no_rule},
     {"tpe", no_rule},
     {"manual", no_rule},
     {"ablation", no_rule},
     {"successive_halving", [](auto const& in, Most most) { return make_successive_halving(in.experiment, most); }},
     {"hyperband", [](auto const& in, Most most) { return make_hyperband(in.experiment, most); }, Ends::by_itself},
     {"bohb", [](auto const& in, Most most) { return make_hyperband(in.experiment, most); }, Ends::by_itself},
     {"asha", [](auto const& in, Most most) { return make_asha(in.experiment, most); }},
     {"median", [](auto const& in, Most) { return make_median(in.experiment); }},
     {"pbt", [](auto const& in, Most) { return make_pbt(in.experiment, in.space); }, Ends::by_itself}}};

struct SamplerRow {
    char const* name;
    std::unique_ptr<Sampler> (*make)(Experiment const&, Space const&);
};

constexpr std::array<SamplerRow, 6> k_samplers{{{"grid", make_grid},
                                                {"random", make_random},
                                                {"sobol", make_sobol},
                                                {"tpe", make_tpe},
                                                {"manual", make_manual},
                                                {"ablation", make_ablation}}};

// The smallest of what the experiment wants, its budget allows and a list holds.
Most most_trials(SearchInput const& input, Sampler const& sampler) {
    auto const& search = input.experiment.search;
    auto out = search.trials;
    if (auto const& budget = search.budget.trials) out = std::min(out.value_or(*budget), *budget);
    if (auto const remaining = sampler.remaining(input.known)) {
        auto const all =
            static_cast<std::int64_t>(*remaining + input.space.start_with.size());  // at most: a start may be on the list
        out = std::min(out.value_or(all), all);
    }
    return out;
}

// What failed stays the worst.
void best_so_far(std::vector<double>& losses) {
    for (std::size_t i = 1; i < losses.size(); ++i)
        if (losses[i] != k_worst) losses[i] = std::min(losses[i], losses[i - 1]);
}

// A rule compares trials after the same number of epochs: what a longer run has learnt later is not asked for.
History known_before(Experiment const& experiment, Space const& space, SearchContext const& context) {
    History out;
    auto const most = static_cast<std::size_t>(most_epochs(experiment));
    bool const ruled = experiment.search.sampler != experiment.search.procedure;
    for (auto& each : usable_past(space, context.past)) {
        if (ruled && each.losses.size() > most) each.losses.resize(most);
        if (experiment.search.objective == Objective::best) best_so_far(each.losses);
        out.add_past(std::move(each));
    }
    return out;
}

template <class Table>
auto const& row_of(Table const& table, std::string const& name, char const* key) {
    for (auto const& row : table)
        if (name == row.name) return row;
    std::vector<std::string> names;
    for (auto const& row : table) names.emplace_back(row.name);
    throw ConfigError(fmt::format("/search/{}: \"{}\" is not available in this version (available: {})", key, name,
                                  fmt::join(names, ", ")));
}

}  // namespace

std::unique_ptr<Search> make_search(Experiment const& experiment, SearchContext const& context) {
    Problems problems("experiment");
    auto const space = read_space(experiment, problems);
    problems.throw_if_any();
    auto input = std::make_unique<SearchInput const>(
        SearchInput{experiment, space, context.measure, known_before(experiment, space, context)});
    auto const& search = experiment.search;
    auto const& procedure = row_of(k_procedures, search.procedure, "procedure");
    auto sampler = row_of(k_samplers, search.sampler, "sampler").make(input->experiment, input->space);
    auto const most = most_trials(*input, *sampler);
    if (!most && !search.budget.epochs && procedure.ends == Ends::never)
        throw ConfigError(
            fmt::format("/search/trials: missing (required); say how many configurations {} should try", search.procedure));
    auto rule = procedure.rule(*input, most);
    auto combined = std::make_unique<CombinedSearch>(std::move(input), std::move(sampler), std::move(rule), most);
    if (search.copies() == 1) return combined;
    RepeatedSearch::LastEpoch last_epoch;
    if (procedure.rule != &no_rule)
        last_epoch = [most = most_epochs(experiment)](Assignment const&) { return most; };
    else if (Goal::is_set(search))
        last_epoch = [experiment](Assignment const& assignment) {
            Problems told("");  // the sampler has checked the assignment
            return resolve(experiment, assignment, told).train.epochs;
        };
    return std::make_unique<RepeatedSearch>(std::move(combined), search, std::move(last_epoch));
}

bool procedure_clones(std::string_view procedure) { return procedure == "pbt"; }

std::vector<std::string> search_names() {
    std::vector<std::string> out;
    for (auto const& row : k_procedures) out.emplace_back(row.name);
    return out;
}

}  // namespace hopscotch
