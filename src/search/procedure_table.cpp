// SPDX-License-Identifier: Apache-2.0
#include "search/procedure_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "core/error.hpp"
#include "search/combined.hpp"
#include "search/plan_count.hpp"

namespace hopscotch {
namespace {

using Most = std::optional<std::int64_t>;

std::unique_ptr<Rule> no_rule(SearchInput const& in, Most) { return make_no_rule(in.experiment); }
std::unique_ptr<Rule> halving_rule(SearchInput const& in, Most most) { return make_successive_halving(in.experiment, most); }
std::unique_ptr<Rule> hyperband_rule(SearchInput const& in, Most most) { return make_hyperband(in.experiment, most); }
std::unique_ptr<Rule> asha_rule(SearchInput const& in, Most most) { return make_asha(in.experiment, most); }
std::unique_ptr<Rule> best_after_rule(SearchInput const& in, Most most) { return make_best_after(in.experiment, most); }
std::unique_ptr<Rule> extrapolate_rule(SearchInput const& in, Most) { return make_extrapolate(in.experiment); }
std::unique_ptr<Rule> median_rule(SearchInput const& in, Most) { return make_median(in.experiment); }
std::unique_ptr<Rule> pbt_rule(SearchInput const& in, Most) { return make_pbt(in.experiment, in.space); }

constexpr std::array<Procedure, 17> k_procedures{{{"grid", no_rule, count_trials},
                                                  {"random", no_rule, count_trials},
                                                  {"sobol", no_rule, count_trials},
                                                  {"tpe", no_rule, count_trials},
                                                  {"gp", no_rule, count_trials},
                                                  {"cma_es", no_rule, count_trials},
                                                  {"nsga2", no_rule, count_trials},
                                                  {"manual", no_rule, count_trials},
                                                  {"ablation", no_rule, count_trials},
                                                  {"successive_halving", halving_rule, count_halving},
                                                  {"hyperband", hyperband_rule, count_hyperband},
                                                  {"bohb", hyperband_rule, count_hyperband},
                                                  {"asha", asha_rule, count_asha},
                                                  {"best_after", best_after_rule, count_best_after},
                                                  {"extrapolate", extrapolate_rule, count_trials_at_most},
                                                  {"median", median_rule, count_trials_at_most},
                                                  {"pbt", pbt_rule, count_population}}};

constexpr std::array<SamplerEntry, 10> k_samplers{{{"grid", make_grid},
                                                   {"random", make_random},
                                                   {"sobol", make_sobol},
                                                   {"tpe", make_tpe},
                                                   {"gp", make_gp},
                                                   {"cma_es", make_cma_es},
                                                   {"nsga2", make_nsga2},
                                                   {"priorband", make_priorband},
                                                   {"manual", make_manual},
                                                   {"ablation", make_ablation}}};

template <class Table>
std::vector<std::string> names_of(Table const& table) {
    std::vector<std::string> out;
    out.reserve(table.size());
    for (auto const& row : table) out.emplace_back(row.name);
    return out;
}

template <class Table>
auto const& row_of(Table const& table, std::string const& name, char const* key) {
    for (auto const& row : table)
        if (name == row.name) return row;
    throw ConfigError(fmt::format("/search/{}: \"{}\" is not available in this version (available: {})", key, name,
                                  fmt::join(names_of(table), ", ")));
}

}  // namespace

Procedure const& procedure_named(std::string const& name) { return row_of(k_procedures, name, "procedure"); }
SamplerEntry const& sampler_named(std::string const& name) { return row_of(k_samplers, name, "sampler"); }
std::vector<std::string> search_names() { return names_of(k_procedures); }
std::vector<std::string> sampler_names() { return names_of(k_samplers); }

}  // namespace hopscotch
