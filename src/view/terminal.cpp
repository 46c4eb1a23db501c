// SPDX-License-Identifier: Apache-2.0
#include "view/terminal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "core/unique_handle.hpp"

namespace hopscotch {
namespace {

constexpr int k_narrowest = 20, k_lowest = 4, k_columns_of_a_file = 120;

struct CloseFile {
    static int null() { return -1; }
    void operator()(int fd) noexcept { ::close(fd); }
};
using File = UniqueHandle<int, CloseFile>;

bool launched_by_mpi() { return std::getenv("OMPI_COMM_WORLD_RANK") != nullptr || std::getenv("PMI_RANK") != nullptr; }

// The launcher's descriptor of the same number: rank 0 runs as its child on the first host.
File launchers(int fd) {
    auto const path = fmt::format("/proc/{}/fd/{}", ::getppid(), fd);
    return File(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC | O_APPEND | O_NONBLOCK));
}

// The window's size changes, the variable does not.
void measure(int fd, Terminal& out) {
    winsize size{};
    if (fd >= 0 && ::ioctl(fd, TIOCGWINSZ, &size) == 0) {
        if (size.ws_row >= k_lowest) out.rows = size.ws_row;
        if (size.ws_col >= k_narrowest) {
            out.columns = size.ws_col;
            return;
        }
    }
    auto const* text = std::getenv("COLUMNS");
    int const columns = text == nullptr ? 0 : std::atoi(text);
    if (columns >= k_narrowest) out.columns = columns;
}

}  // namespace

Terminal terminal_of(int fd) {
    File const launcher = launched_by_mpi() ? launchers(fd) : File();
    int const seen = launched_by_mpi() ? launcher.handle() : fd;
    bool const live = seen >= 0 && ::isatty(seen) == 1;
    Terminal out;
    if (live) out.kind = Terminal::Kind::live;
    if (!live) out.columns = k_columns_of_a_file;
    measure(live ? seen : -1, out);
    return out;
}

}  // namespace hopscotch
