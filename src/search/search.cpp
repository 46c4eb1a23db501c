// SPDX-License-Identifier: Apache-2.0
#include "search/search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "core/error.hpp"
#include "experiment/space.hpp"
#include "search/grid.hpp"
#include "search/random.hpp"

namespace hopscotch {
namespace {

struct Row {
    char const* name;
    std::unique_ptr<Search> (*make)(Experiment const&, Space const&);
};

constexpr std::array<Row, 2> k_table{{{"grid", make_grid}, {"random", make_random}}};

}  // namespace

std::unique_ptr<Search> make_search(Experiment const& experiment) {
    Problems problems("experiment");
    auto const space = read_space(experiment, problems);
    problems.throw_if_any();
    for (auto const& row : k_table)
        if (experiment.search.procedure == row.name) return row.make(experiment, space);
    throw ConfigError(fmt::format("/search/procedure: \"{}\" is not available in this version (available: {})",
                                  experiment.search.procedure, fmt::join(search_names(), ", ")));
}

std::vector<std::string> search_names() {
    std::vector<std::string> out;
    for (auto const& row : k_table) out.emplace_back(row.name);
    return out;
}

}  // namespace hopscotch
