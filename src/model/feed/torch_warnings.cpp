// SPDX-License-Identifier: Apache-2.0
#include "model/feed/torch_warnings.hpp"

#include <c10/util/Exception.h>

#include <mutex>
#include <set>
#include <string>

#include "core/log.hpp"

namespace hopscotch {
namespace {

class LogOnce final : public c10::WarningHandler {
public:
    void process(c10::Warning const& warning) override {
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
