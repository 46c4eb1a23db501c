// SPDX-License-Identifier: Apache-2.0
// The makers of all procedures and samplers, in the order of experiment/procedures.hpp, which answers the questions of other
// modules.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "search/rule.hpp"
#include "search/sampler.hpp"

namespace hopscotch {

struct PlanInput;
struct SearchInput;
struct SearchPlan;

struct Procedure {
    char const* name;
    // most: the number of trials; none: not known.
    std::unique_ptr<Rule> (*rule)(SearchInput const&, std::optional<std::int64_t> most);
    void (*count)(PlanInput const&,
                  SearchPlan&);  // trials and epochs, for --dry-run, if the trials are not known beforehand
};
Procedure const& procedure_named(std::string const& name);  // throws ConfigError that lists the known names
std::vector<std::string> search_names();

struct SamplerEntry {
    char const* name;
    std::unique_ptr<Sampler> (*make)(Experiment const&, Space const&);
};
SamplerEntry const& sampler_named(std::string const& name);  // throws ConfigError that lists the known names
std::vector<std::string> sampler_names();

}  // namespace hopscotch
