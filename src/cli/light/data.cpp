// SPDX-License-Identifier: Apache-2.0
// hopscotch data: makes, inspects and verifies dataset directories.
#include <memory>

#include "cli/common/commands.hpp"
#include "cli/data/import.hpp"
#include "cli/data/report.hpp"

namespace hopscotch {
namespace {

SubCommand on_directory(std::string const& name, std::string const& summary, int (*work)(std::filesystem::path const&)) {
    return {name, summary, [work](Command command) {
                auto const directory = std::make_shared<std::string>();
                command.add_option("directory", *directory, "A dataset directory").required().type_name("DIR");
                return on_first_rank([=] { return work(*directory); });
            }};
}

}  // namespace

Work add_data(Command command) {
    return command.add_sub_commands(
        {{"import", "Turn source files into a dataset directory", add_import},
         on_directory("inspect", "Print the contents of a dataset directory", inspect_dataset),
         on_directory("verify", "Read every row; check hashes, counts, labels and NaN (exit code 1: damaged)",
                      verify_dataset)});
}

}  // namespace hopscotch
