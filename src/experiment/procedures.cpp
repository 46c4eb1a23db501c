// SPDX-License-Identifier: Apache-2.0
#include "experiment/procedures.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr std::size_t k_most_sobol = 21;  // rows of the table of direction numbers in search/sobol.cpp

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

std::vector<ProcedureTraits> make_procedures() {
    Keys const counted{"trials", "start_with", "start_from", "patience"};
    Keys const stepwise = counted + Keys{"min_epochs", "max_epochs"};
    Keys const halving = stepwise + Keys{"eta"}, ruled = halving + Keys{"sampler"},
               watched = stepwise + Keys{"sampler", "min_trials"};
    auto const grows = MoreTrials::in_stages;
    std::vector<std::string> const any{"random", "sobol", "tpe", "grid", "manual"};
    std::vector<std::string> const at_once{"random", "sobol", "grid", "manual"};  // a population precedes its first result
    return {
        {.name = "grid", .samplers = {"grid"}, .keys = counted},
        {.name = "random", .samplers = {"random"}, .keys = counted, .more_trials = MoreTrials::always},
        {.name = "sobol", .samplers = {"sobol"}, .keys = counted, .more_trials = MoreTrials::always},
        {.name = "tpe", .samplers = {"tpe"}, .keys = counted, .more_trials = MoreTrials::if_undisturbed},
        {.name = "manual", .samplers = {"manual"}, .keys = {"start_from", "patience"}},
        {.name = "ablation", .samplers = {"ablation"}, .keys = {"patience"}},
        {.name = "successive_halving", .samplers = any, .keys = ruled, .has_rule = true, .rungs_wait = true},
        {.name = "hyperband",
         .samplers = any,
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
        {.name = "asha", .samplers = any, .keys = ruled + Keys{"variant"}, .has_rule = true, .more_trials = grows},
        {.name = "median", .samplers = any, .keys = watched, .has_rule = true, .more_trials = grows},
        {.name = "pbt",
         .samplers = at_once,
         .keys = {"sampler", "start_with", "start_from", "max_epochs", "population", "interval", "quantile", "resample",
                  "factors"},
         .has_rule = true,
         .ends_by_itself = true,
         .clones = true},
    };
}

}  // namespace

std::vector<SamplerTraits> const& sampler_traits() {
    static std::vector<SamplerTraits> const table = {
        {.name = "grid", .configurations = Configurations::whole_grid},
        {.name = "random"},
        {.name = "sobol", .most_keys = k_most_sobol},
        {.name = "tpe", .keys = {"startup", "candidates", "multivariate"}},
        {.name = "manual", .configurations = Configurations::named, .keys = {"configurations"}},
        {.name = "ablation", .configurations = Configurations::one_changed},
    };
    return table;
}

SamplerTraits const& sampler_traits(std::string_view name) { return row_named(sampler_traits(), name, "sampler"); }

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

std::vector<std::string> procedure_names() { return names_in(procedure_traits()); }
std::vector<std::string> procedures_with(std::string_view key) { return names_with(procedure_traits(), key); }
std::vector<std::string> samplers_with(std::string_view key) { return names_with(sampler_traits(), key); }

}  // namespace hopscotch
