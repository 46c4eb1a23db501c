// SPDX-License-Identifier: Apache-2.0
// The rows of the tables of procedures and samplers, as the keys of `search`. Lists of cases take every row that they do not
// name themselves from here, so a new procedure is tested without a line in any list.
#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "experiment/procedures.hpp"

namespace hopscotch {

// Whether it draws from any space: without a list of its own, and not every point of a grid.
inline bool draws(ProcedureTraits const& row) {
    return sampler_traits(row.samplers.front()).configurations == Configurations::drawn;
}

inline bool has_key(ProcedureTraits const& row, std::string_view key) { return std::ranges::count(row.keys, key) > 0; }

// Of the row's usual sampler.
inline bool samples_with(ProcedureTraits const& row, std::string_view key) {
    return std::ranges::count(sampler_traits(row.samplers.front()).keys, key) > 0;
}

inline std::string named(ProcedureTraits const& row) { return "\"procedure\": \"" + std::string(row.name) + "\""; }

inline ProcedureTraits const& row_of(std::string const& keys) {
    for (auto const& row : procedure_traits())
        if (keys.find(named(row)) != keys.npos) return row;
    return procedure_traits(keys);  // throws
}

// The cases, and one with few keys for each row that draws and that none of them names.
inline std::vector<std::string> with_every_procedure(std::vector<std::string> cases) {
    for (auto const& row : procedure_traits()) {
        auto const names_it = [&](std::string const& keys) { return keys.find(named(row)) != keys.npos; };
        if (!draws(row) || std::ranges::any_of(cases, names_it)) continue;
        cases.push_back(named(row) + (has_key(row, "trials") && !row.ends_by_itself ? ", \"trials\": 9" : ""));
    }
    return cases;
}

}  // namespace hopscotch
