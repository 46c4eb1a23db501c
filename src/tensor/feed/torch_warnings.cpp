// SPDX-License-Identifier: Apache-2.0
#include "tensor/feed/torch_warnings.hpp"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "core/log.hpp"

namespace hopscotch {
namespace {

// Warnings that apply to every model here, and that no user can act on.
constexpr std::array k_known{
    // Torch's thread of backward passes has no context yet; torch then takes the device's.
    "Attempting to run cuBLAS, but there was no current CUDA context",
    // They lie in the state, where each tensor has its own place.
    "RNN module weights are not part of single contiguous chunk of memory",
};

bool is_known(std::string const& text) {
    return std::ranges::any_of(k_known, [&](std::string_view known) { return text.starts_with(known); });
}

class LogOnce final : public c10::WarningHandler {
public:
    void process(c10::Warning const& warning) override {
        if (is_known(warning.msg())) return;
        {
            std::lock_guard const lock(mutex_);
            if (!said_.insert(warning.msg()).second) return;
        }
        log_warning("torch: " + warning.msg());
    }

private:
    std::mutex mutex_;
    std::set<std::string> said_;
};

}  // namespace

void log_torch_warnings() {
    static LogOnce handler;  // of the process: torch keeps a pointer to it
    c10::WarningUtils::set_warning_handler(&handler);
}

}  // namespace hopscotch
