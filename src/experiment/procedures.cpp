// SPDX-License-Identifier: Apache-2.0
#include "experiment/procedures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_sobol = 21;  // rows of the table of direction numbers in search/sobol.cpp

// Measured on public learning curves (docs/decisions/0078): a rule that decides again and again may begin early.
constexpr int k_twenty_seventh = 27, k_ninth = 9;

template <class Row>
std::vector<std::string> names_in(std::vector<Row> const& table) {
    std::vector<std::string> out;
    for (auto const& row : table) out.emplace_back(row.name);
    return out;
}

template <class Row>
std::vector<std::string> names_with(std::vector<Row> const& table, std::string_view key) {
    std::vector<std::string> out;
    for (auto const& row : table)
        if (std::ranges::count(row.keys, key) > 0) out.emplace_back(row.name);
    return out;
}

template <class Row>
Row const& row_named(std::vector<Row> const& table, std::string_view name, std::string_view what) {
    auto const found = std::ranges::find(table, name, &Row::name);
    if (found != table.end()) return *found;
    throw ConfigError(fmt::format("{} \"{}\" is unknown (known: {})", what, name, fmt::join(names_in(table), ", ")));
}

using Keys = std::vector<std::string_view>;

Keys operator+(Keys keys, Keys const& more) {
    keys.insert(keys.end(), more.begin(), more.end());
    return keys;
}

std::vector<std::string> any_sampler() { return {"random", "sobol", "tpe", "gp", "priorband", "nsga2", "grid", "manual"}; }
Keys counted() { return {"trials", "start_with", "start_from", "start_with_best", "patience"}; }
Keys compared() { return counted() + Keys{"objectives"}; }

std::vector<ProcedureTraits> samplers_alone() {
    using enum MoreTrials;
    return {
        {.name = "grid", .samplers = {"grid"}, .keys = compared(), .serves = Serves::small_spaces},
        {.name = "random", .samplers = {"random"}, .keys = compared(), .more_trials = always, .serves = Serves::many_keys},
        {.name = "sobol", .samplers = {"sobol"}, .keys = compared(), .more_trials = always, .serves = Serves::few_trials},
        {.name = "tpe",
         .samplers = {"tpe"},
         .keys = compared(),
         .more_trials = if_undisturbed,
         .serves = Serves::many_trials},
        {.name = "gp",
         .samplers = {"gp"},
         .keys = counted(),
         .more_trials = if_undisturbed,
         .serves = Serves::costly_trials},
        {.name = "cma_es", .samplers = {"cma_es"}, .keys = counted(), .more_trials = if_undisturbed},
        {.name = "nsga2", .samplers = {"nsga2"}, .keys = compared(), .more_trials = if_undisturbed},
        {.name = "manual",
         .samplers = {"manual"},
         .keys = {"start_from", "patience", "objectives"},
         .serves = Serves::lists},
        {.name = "ablation", .samplers = {"ablation"}, .keys = {"patience"}},
    };
}

std::vector<ProcedureTraits> brackets() {
    Keys const halving = compared() + Keys{"min_epochs", "max_epochs", "eta"}, ruled = halving + Keys{"sampler"};
    auto const grows = MoreTrials::in_stages;
    return {
        {.name = "successive_halving", .samplers = any_sampler(), .keys = ruled, .has_rule = true, .rungs_wait = true},
        {.name = "hyperband",
         .samplers = any_sampler(),
         .keys = ruled,
         .has_rule = true,
         .ends_by_itself = true,
         .more_trials = grows},
        {.name = "bohb",
         .samplers = {"tpe"},
         .keys = halving,
         .has_rule = true,
         .ends_by_itself = true,
         .more_trials = grows},
        {.name = "asha",
         .samplers = any_sampler(),
         .keys = ruled + Keys{"variant"},
         .has_rule = true,
         .first_share = k_twenty_seventh,
         .more_trials = grows,
         .serves = Serves::long_trials},
        {.name = "best_after",
         .samplers = any_sampler(),
         .keys = compared() + Keys{"min_epochs", "max_epochs", "sampler", "keep"},
         .has_rule = true,
         .rungs_wait = true,
         .first_share = k_ninth},
    };
}

std::vector<ProcedureTraits> make_procedures() {
    auto out = samplers_alone();
    std::ranges::move(brackets(), std::back_inserter(out));
    out.push_back({.name = "extrapolate",
                   .samplers = any_sampler(),
                   .keys = counted() + Keys{"min_epochs", "max_epochs", "sampler", "confidence"},
                   .has_rule = true,
                   .first_share = k_ninth,
                   .more_trials = MoreTrials::in_stages});
    out.push_back({.name = "median",
                   .samplers = any_sampler(),
                   .keys = counted() + Keys{"min_epochs", "max_epochs", "sampler", "min_trials"},
                   .has_rule = true,
                   .first_share = k_twenty_seventh,
                   .more_trials = MoreTrials::in_stages});
    out.push_back({.name = "pbt",
                   .samplers = {"random", "sobol", "grid", "manual"},  // a population precedes its first result
                   .keys = {"sampler", "start_with", "start_from", "start_with_best", "max_epochs", "population", "interval",
                            "quantile", "resample", "factors"},
                   .has_rule = true,
                   .ends_by_itself = true,
                   .clones = true});
    return out;
}

}  // namespace

std::vector<SamplerTraits> const& sampler_traits() {
    static std::vector<SamplerTraits> const table = {
        {.name = "grid", .configurations = Configurations::whole_grid},
        {.name = "random"},
        {.name = "sobol", .most_keys = k_most_sobol},
        {.name = "tpe", .keys = {"startup", "candidates", "multivariate"}},
        {.name = "gp", .keys = {"startup"}, .one_objective = true},
        {.name = "cma_es", .one_objective = true, .needs_numbers = true},
        {.name = "nsga2", .keys = {"parents"}},
        {.name = "priorband", .one_objective = true},
        {.name = "manual", .configurations = Configurations::named, .keys = {"configurations"}},
        {.name = "ablation", .configurations = Configurations::one_changed},
    };
    return table;
}

SamplerTraits const& sampler_traits(std::string_view name) { return row_named(sampler_traits(), name, "sampler"); }

std::string list_sampler() {
    return std::string(std::ranges::find(sampler_traits(), Configurations::named, &SamplerTraits::configurations)->name);
}

std::vector<ProcedureTraits> const& procedure_traits() {
    static auto const table = make_procedures();
    return table;
}

ProcedureTraits const& procedure_traits(std::string_view name) {
    return row_named(procedure_traits(), name, "search procedure");
}

bool has_named_configurations(SearchConfig const& search) {
    return !search.sampler.empty() && sampler_traits(search.sampler).configurations == Configurations::named;
}

std::string procedure_that(Serves serves) {
    return std::string(std::ranges::find(procedure_traits(), serves, &ProcedureTraits::serves)->name);
}

std::vector<std::string> procedure_names() { return names_in(procedure_traits()); }
std::vector<std::string> procedures_with(std::string_view key) { return names_with(procedure_traits(), key); }
std::vector<std::string> samplers_with(std::string_view key) { return names_with(sampler_traits(), key); }

}  // namespace hopscotch
