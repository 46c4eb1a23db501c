// SPDX-License-Identifier: Apache-2.0
// Watches one import, or another reading of sources: shows its progress on a terminal. At a signal it ends the import by an
// exception, so that unfinished files are removed.
#pragma once
#include <cstdint>
#include <string>

#include "core/clock.hpp"

namespace hopscotch {

class ImportWatch {
public:
    // SIGINT and SIGTERM end the import from now on; a second one kills as usual. work: its name in the message.
    explicit ImportWatch(std::string work = "import");
    ~ImportWatch();  // wipes the progress; signals are as before
    ImportWatch(ImportWatch const&) = delete;
    ImportWatch& operator=(ImportWatch const&) = delete;

    // Rows done, and rows in all (0: not known yet). Throws Error if a signal has come.
    void see(std::int64_t done, std::int64_t all);

    double seconds() const { return monotonic_s() - start_s_; }

private:
    std::string work_;
    double start_s_, shown_s_ = 0;
    bool terminal_, dirty_ = false;  // dirty: there is progress on the terminal
};

}  // namespace hopscotch
