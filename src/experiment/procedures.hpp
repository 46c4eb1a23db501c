// SPDX-License-Identifier: Apache-2.0
// Search procedures and samplers, one row each: all facts about them that code outside `search` needs. No other code
// compares their names. The makers stand in search/procedure_table.cpp, under the same names.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "experiment/search_config.hpp"

namespace hopscotch {

// Where a sampler's configurations come from.
enum class Configurations {
    drawn,       // from the space, as many as are asked for
    whole_grid,  // every point of the space
    named,       // search.configurations lists them, in place of a space
    one_changed  // the first value of every list, then one other value at a time; the result needs all of these trials
};

struct SamplerTraits {
    std::string_view name;
    Configurations configurations = Configurations::drawn;
    std::size_t most_keys = 0;                // that the space may search; 0: any number
    std::vector<std::string_view> keys = {};  // of the section `search`
    bool one_objective = false;               // it learns from search.metric alone
    bool needs_numbers = false;               // that every configuration has
    bool is_list() const { return configurations == Configurations::whole_grid || configurations == Configurations::named; }
};

// Whether a run may get more trials: the decisions about the first ones must not depend on their number.
enum class MoreTrials {
    never,
    if_undisturbed,  // results lead to later trials: no orders, and no lap that only the clock of decisions releases
    in_stages,       // the original trials are searched to their end, then the new ones
    always
};

// Which case of search.procedure "auto" a procedure serves (experiment/auto_procedure.cpp).
enum class Serves { none, lists, small_spaces, few_trials, many_keys, costly_trials, many_trials, long_trials };

struct ProcedureTraits {
    std::string_view name;
    std::vector<std::string> samplers;        // that it may have; the first unless search.sampler names another
    std::vector<std::string_view> keys = {};  // of the section `search`, and of its `budget`
    bool has_rule = false;                    // it decides during training which trials continue
    bool ends_by_itself = false;              // without a number of trials or a budget
    bool clones = false;                      // trials take over each other's states
    bool rungs_wait = false;                  // a rung waits for all of its trials
    int first_share = 0;                      // by default decisions begin after this part of max_epochs; 0: at once
    MoreTrials more_trials = MoreTrials::never;
    Serves serves = Serves::none;
};

std::vector<SamplerTraits> const& sampler_traits();
std::string list_sampler();                                  // the one that tries search.configurations
SamplerTraits const& sampler_traits(std::string_view name);  // throws ConfigError that lists the known names

std::vector<ProcedureTraits> const& procedure_traits();
ProcedureTraits const& procedure_traits(std::string_view name);  // throws ConfigError that lists the known names
std::vector<std::string> procedure_names();
std::string procedure_that(Serves serves);
inline constexpr char const* k_auto_procedure = "auto";

bool has_named_configurations(SearchConfig const& search);  // false while the procedure is wrong: then the sampler is ""

std::vector<std::string> procedures_with(std::string_view key);
std::vector<std::string> samplers_with(std::string_view key);

}  // namespace hopscotch
