// SPDX-License-Identifier: Apache-2.0
#include "cli/common/work.hpp"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <map>
#include <utility>

namespace hopscotch {

Work add_sub_commands(CLI::App& parent, std::vector<SubCommand> const& rows) {
    parent.require_subcommand(1);
    std::map<std::string, Work> works;
    for (auto const& row : rows) works[row.name] = row.add(*parent.add_subcommand(row.name, row.summary));
    return [&parent, works = std::move(works)] { return works.at(parent.get_subcommands().front()->get_name())(); };
}

bool is_first_rank() {
    for (auto const* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"})
        if (auto const* rank = std::getenv(name)) return std::string(rank) == "0";
    return true;
}

Work on_first_rank(Work work) {
    return [work = std::move(work)] { return is_first_rank() ? work() : 0; };
}

}  // namespace hopscotch
