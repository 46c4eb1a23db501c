// SPDX-License-Identifier: Apache-2.0
#include "core/signals.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <string_view>

namespace hopscotch {
namespace {

constexpr std::array k_signals{SIGTERM, SIGINT, SIGUSR1};

std::sig_atomic_t volatile g_signal = 0;

void on_signal(int signal) {
    if (g_signal == 0) g_signal = signal;
    if (signal == SIGINT) std::signal(SIGINT, SIG_DFL);
}

void mask(int how) {
    sigset_t set;
    sigemptyset(&set);
    for (int const signal : k_signals) sigaddset(&set, signal);
    pthread_sigmask(how, &set, nullptr);
}

}  // namespace

bool trains(int argc, char** argv) {
    auto const* word = std::find_if(argv + 1, argv + argc, [](char const* each) { return each[0] != '-'; });
    return word != argv + argc && (*word == std::string_view("run") || *word == std::string_view("resume"));
}

void hold_signals() { mask(SIG_BLOCK); }

void catch_signals() {
    for (int const signal : k_signals) std::signal(signal, on_signal);
    mask(SIG_UNBLOCK);
}

void ignore_signals() {
    for (int const signal : k_signals) std::signal(signal, SIG_IGN);
}

int signal_caught() { return g_signal; }

}  // namespace hopscotch
