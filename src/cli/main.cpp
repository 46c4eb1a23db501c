// SPDX-License-Identifier: Apache-2.0
// The program hopscotch: the sub-commands that need neither MPI nor a model. For the others it starts hopscotch-train in its
// place.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/cli.hpp"
#include "cli/common/commands.hpp"
#include "core/error.hpp"
#include "core/fault.hpp"
#include "core/signals.hpp"

namespace {

constexpr rlim_t k_least_address_bytes = 512 << 20;  // a run with LibTorch and MPI takes 470 MB of addresses

// Below that, the loader, MPI or an initialiser of LibTorch ends the process with its own message.
void require_addresses() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= k_least_address_bytes) return;
    throw hopscotch::Error(
        fmt::format("the limit of virtual memory is {} kB (LibTorch alone needs {}); raise it with `ulimit -v unlimited`",
                    limit.rlim_cur >> 10, k_least_address_bytes >> 10));
}

// The process keeps its id, its environment and its open files, so a launcher sees one process.
int become_train(char** argv) {
    require_addresses();
    auto const program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "hopscotch-train";
    hopscotch::fault_point("start.program");
    ::execv(program.c_str(), argv);
    throw hopscotch::Error(fmt::format("{}: cannot be started ({}); install hopscotch and hopscotch-train in one folder",
                                       program.string(), std::strerror(errno)));
}

}  // namespace

int main(int argc, char** argv) {
    using namespace hopscotch;
    if (trains(argc, argv)) hold_signals();
    return run_cli(argc, argv,
                   {{{"compare", add_compare},
                     {"ctl", add_ctl},
                     {"data", add_data},
                     {"export", add_export},
                     {"init", add_init},
                     {"report", add_report},
                     {"what-if", add_what_if}},
                    nullptr,
                    [argv] { return become_train(argv); }});
}
