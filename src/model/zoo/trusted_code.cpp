// SPDX-License-Identifier: Apache-2.0
#include "model/zoo/trusted_code.hpp"

#include <mutex>

#include "core/error.hpp"

namespace hopscotch {
namespace {

// One list for the process: loaded code can do everything that the process can.
struct Trusted {
    std::mutex mutex;
    std::set<std::string> files;
};
Trusted& trusted() {
    static Trusted out;
    return out;
}

}  // namespace

void trust_code(std::set<std::string> const& files) {
    std::lock_guard const lock(trusted().mutex);
    trusted().files.insert(files.begin(), files.end());
}

bool is_trusted(std::string const& file) {
    std::lock_guard const lock(trusted().mutex);
    return trusted().files.contains(file);
}

void require_trusted(std::string const& file) {
    if (is_trusted(file)) return;
    throw ConfigError(
        "is not executed (your experiment does not name this file as model.file: docs/security.md); name it there if you "
        "trust it");
}

}  // namespace hopscotch
