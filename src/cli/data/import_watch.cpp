// SPDX-License-Identifier: Apache-2.0
#include "cli/data/import_watch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "core/error.hpp"

namespace hopscotch {
namespace {

constexpr double k_between_s = 0.1;

// Set by SIGTERM and SIGINT; a second signal kills as usual.
std::sig_atomic_t volatile g_import_signal = 0;

void on_import_signal(int signal) {
    g_import_signal = signal;
    std::signal(signal, SIG_DFL);
}

}  // namespace

ImportWatch::ImportWatch(std::string work)
    : work_(std::move(work)), start_s_(monotonic_s()), terminal_(isatty(STDERR_FILENO) == 1) {
    std::signal(SIGTERM, on_import_signal);
    std::signal(SIGINT, on_import_signal);
}

ImportWatch::~ImportWatch() {
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGINT, SIG_DFL);
    if (dirty_) std::fputs("\r\033[K", stderr);
}

void ImportWatch::see(std::int64_t done, std::int64_t all) {
    if (g_import_signal != 0)
        throw Error(
            fmt::format("{} interrupted by {}; nothing was kept", work_, g_import_signal == SIGINT ? "SIGINT" : "SIGTERM"));
    auto const now = monotonic_s();
    if (!terminal_ || now - shown_s_ < k_between_s) return;
    shown_s_ = now;
    dirty_ = true;
    fmt::print(stderr, "\r\033[K{}{} rows, {:.0f} rows/s", done, all > 0 ? fmt::format(" of {}", all) : "",
               static_cast<double>(done) / (now - start_s_));
}

}  // namespace hopscotch
