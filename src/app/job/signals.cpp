// SPDX-License-Identifier: Apache-2.0
#include "app/job/signals.hpp"

#include <array>
#include <csignal>

namespace hopscotch {
namespace {

constexpr std::array k_signals{SIGTERM, SIGINT, SIGUSR1};

std::sig_atomic_t volatile g_signal = 0;

void on_signal(int signal) {
    if (g_signal == 0) g_signal = signal;
    if (signal == SIGINT) std::signal(SIGINT, SIG_DFL);
}

}  // namespace

void catch_signals() {
    for (int const signal : k_signals) std::signal(signal, on_signal);
}

void ignore_signals() {
    for (int const signal : k_signals) std::signal(signal, SIG_IGN);
}

int signal_caught() { return g_signal; }

}  // namespace hopscotch
