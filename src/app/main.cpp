// SPDX-License-Identifier: Apache-2.0
// The program hopscotch: the sub-commands that need no LibTorch. For the others it starts hopscotch-train in its place.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "app/cli.hpp"
#include "app/commands/commands.hpp"
#include "core/error.hpp"

namespace {

// The process keeps its id, its environment and its open files, so a launcher sees one process.
int become_train(char** argv) {
    auto const program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "hopscotch-train";
    ::execv(program.c_str(), argv);
    throw hopscotch::Error(fmt::format("{}: cannot be started ({}); install hopscotch and hopscotch-train in one folder",
                                       program.string(), std::strerror(errno)));
}

}  // namespace

int main(int argc, char** argv) {
    using namespace hopscotch;
    return run_cli(argc, argv,
                   {{{"compare", add_compare},
                     {"ctl", add_ctl},
                     {"data", add_data},
                     {"export", add_export},
                     {"init", add_init},
                     {"report", add_report}},
                    nullptr,
                    [argv] { return become_train(argv); }});
}
